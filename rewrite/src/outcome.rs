//! The result of rewriting a class, and the report on its methods.

use std::fmt;

use crate::code::bci::Bci;
use crate::constant_pool::PoolFull;
use crate::error::{Error, ErrorKind};
use crate::modified_utf8::display;

/// The result of [`crate::Rewriter::rewrite`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<B> {
    /// The class needs no change: use the original. The caller's allocator was not called.
    Unchanged,
    /// The instrumented class, in the buffer that the caller's allocator
    /// returned.
    Rewritten(B),
}

/// The reason why a selected method with code is not instrumented.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// `@IntrinsicCandidate` or `@HotSpotIntrinsicCandidate`: compiled code does not run the method's body, so
    /// counts would be wrong.
    IntrinsicCandidate,
    /// `@ChangesCurrentThread`: the method enters on one thread and exits on
    /// another.
    ChangesCurrentThread,
    /// `@JvmtiMountTransition`: the method runs while a virtual thread is half
    /// mounted.
    JvmtiMountTransition,
    /// `@JvmtiHideEvents`: the JVM sends no events of the method to tools.
    JvmtiHideEvents,
    /// `@Hidden`: the JVM leaves the method out of stack traces.
    Hidden,
    /// `@Scoped`: before the JVM frees memory, it searches the top few frames of all threads for such methods. With
    /// frames of probes on top, it would not find these methods.
    Scoped,
    /// A compiled `LambdaForm` of `java.lang.invoke`.
    LambdaForm,
    /// `Object.finalize`: if it had any code, every object would have a finalizer.
    ObjectFinalize,
    /// An empty `finalize`, which the JVM does not treat as a finalizer. A probe would make it one.
    EmptyFinalize,
    /// A method of the tracker, whose probes would call the tracker again.
    Tracker,
    /// The code would exceed 65,535 bytes (JVMS §4.7.3).
    CodeTooLarge {
        /// The length that the code would have, in bytes.
        len: u32,
    },
    /// The code would exceed 8,000 bytes, above which HotSpot does not compile it.
    HugeMethod {
        /// The length that the code would have, in bytes.
        len: u32,
    },
    /// `max_stack` would exceed 65,535.
    StackTooDeep,
    /// `max_locals` would exceed 65,535.
    TooManyLocals,
    /// The exception table would exceed 65,535 entries.
    TooManyHandlers,
    /// The `StackMapTable` would exceed 65,535 entries.
    TooManyFrames,
    /// The constant pool has no index left for the constants of the probes.
    PoolFull,
    /// An attribute of the code that this crate does not know, and that may contain bytecode offsets.
    UnknownAttribute(String),
    /// Code or tables that violate the specification.
    Unreadable(Error),
}

impl Reason {
    /// Returns a short, stable word for scripts and summaries.
    pub fn word(&self) -> &'static str {
        match self {
            Reason::IntrinsicCandidate => "intrinsic-candidate",
            Reason::ChangesCurrentThread => "changes-current-thread",
            Reason::JvmtiMountTransition => "jvmti-mount-transition",
            Reason::JvmtiHideEvents => "jvmti-hide-events",
            Reason::Hidden => "hidden",
            Reason::Scoped => "scoped",
            Reason::LambdaForm => "lambda-form",
            Reason::ObjectFinalize => "object-finalize",
            Reason::EmptyFinalize => "empty-finalize",
            Reason::Tracker => "tracker",
            Reason::CodeTooLarge { .. } => "code-too-large",
            Reason::HugeMethod { .. } => "huge-method",
            Reason::StackTooDeep => "stack-too-deep",
            Reason::TooManyLocals => "too-many-locals",
            Reason::TooManyHandlers => "too-many-handlers",
            Reason::TooManyFrames => "too-many-frames",
            Reason::PoolFull => "pool-full",
            Reason::UnknownAttribute(_) => "unknown-attribute",
            Reason::Unreadable(_) => "unreadable",
        }
    }

    /// Returns whether the method must not be instrumented whatever its size, because its counts would be wrong
    /// or the JVM would be harmed.
    pub fn is_by_nature(&self) -> bool {
        match self {
            Reason::IntrinsicCandidate
            | Reason::ChangesCurrentThread
            | Reason::JvmtiMountTransition
            | Reason::JvmtiHideEvents
            | Reason::Hidden
            | Reason::Scoped
            | Reason::LambdaForm
            | Reason::ObjectFinalize
            | Reason::EmptyFinalize
            | Reason::Tracker => true,
            Reason::CodeTooLarge { .. }
            | Reason::HugeMethod { .. }
            | Reason::StackTooDeep
            | Reason::TooManyLocals
            | Reason::TooManyHandlers
            | Reason::TooManyFrames
            | Reason::PoolFull
            | Reason::UnknownAttribute(_)
            | Reason::Unreadable(_) => false,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::IntrinsicCandidate => write!(f, "intrinsic candidate"),
            Reason::ChangesCurrentThread => write!(f, "changes the current thread"),
            Reason::JvmtiMountTransition => write!(f, "mounts a virtual thread"),
            Reason::JvmtiHideEvents => write!(f, "hides its events from tools"),
            Reason::Hidden => write!(f, "hidden from stack traces"),
            Reason::Scoped => write!(f, "accesses memory that may be freed"),
            Reason::LambdaForm => write!(f, "compiled lambda form"),
            Reason::ObjectFinalize => write!(f, "Object.finalize"),
            Reason::EmptyFinalize => write!(f, "empty finalize"),
            Reason::Tracker => write!(f, "part of the tracker"),
            Reason::CodeTooLarge { len } => {
                write!(f, "code would be {len} bytes; the limit is 65535")
            }
            Reason::HugeMethod { len } => {
                write!(
                    f,
                    "code would be {len} bytes; HotSpot does not compile more than 8000"
                )
            }
            Reason::StackTooDeep => write!(f, "operand stack would exceed 65535 slots"),
            Reason::TooManyLocals => write!(f, "local variables would exceed 65535 slots"),
            Reason::TooManyHandlers => write!(f, "exception table would exceed 65535 entries"),
            Reason::TooManyFrames => write!(f, "stack map would exceed 65535 frames"),
            Reason::PoolFull => write!(f, "constant pool is full"),
            Reason::UnknownAttribute(name) => {
                let name = display(name.as_bytes());
                write!(f, "unknown attribute {name} in its code")
            }
            Reason::Unreadable(error) => write!(f, "{error}"),
        }
    }
}

/// A selected method that is not instrumented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftAlone {
    /// The method's position among the class's methods, from 0.
    pub method: u16,
    /// The reason why the method is not instrumented.
    pub reason: Reason,
}

/// A constructor in which no added handler covers some instructions: if they
/// throw an exception that leaves the constructor, no probe reports that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uncovered {
    /// The constructor's position among the class's methods, from 0.
    pub method: u16,
    /// The number of instructions that no added handler covers. The call that initialises `this` does not count, since
    /// no constructor can have a handler for that call.
    pub instructions: u32,
}

/// The report on the methods of the class that was rewritten last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of methods that have code.
    pub with_code: u32,
    /// The number of methods that now have probes.
    pub instrumented: u32,
    /// The selected methods that are not instrumented, in the order of the class. The intrinsic candidate
    /// `Object.<init>` is among them even if it has an object probe.
    pub left_alone: Vec<LeftAlone>,
    /// The constructors in which the added handlers do not cover all instructions.
    pub uncovered: Vec<Uncovered>,
}

impl Report {
    pub(crate) fn clear(&mut self) {
        self.with_code = 0;
        self.instrumented = 0;
        self.left_alone.clear();
        self.uncovered.clear();
    }
}

/// A fault at an instruction.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    pub(crate) bci: Bci,
}

/// The reason why a method cannot be planned. The caller turns a fault's bytecode offset into an offset in the
/// class file.
#[derive(Clone, Debug)]
pub(crate) enum Refusal {
    Fault(Fault),
    Reason(Reason),
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Refusal::Fault(fault)
    }
}

impl From<ErrorKind> for Refusal {
    fn from(kind: ErrorKind) -> Self {
        Refusal::Fault(Fault {
            kind,
            bci: Bci::START,
        })
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Refusal::Reason(Reason::Unreadable(error))
    }
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        Refusal::Reason(reason)
    }
}

impl From<PoolFull> for Refusal {
    fn from(_: PoolFull) -> Self {
        Refusal::Reason(Reason::PoolFull)
    }
}
