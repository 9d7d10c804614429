//! Writes probes: instructions that push arguments and call the tracker, and the constants that these
//! instructions need.

use crate::code::relocation::Snippet;
use crate::constant_pool::{PoolAdditions, PoolFull, PoolMark};
use crate::cp_index::CpIndex;
use crate::opcode::Opcode;
use crate::options::{CallShape, Options};

/// A static method of the tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Enter,
    /// `enter`, with the receiver as its first argument.
    EnterOn,
    Count,
    Exit,
    Caught,
    Construct,
    Constructed,
    Ended,
    TraceEnter,
    TraceExit,
    TraceThrown,
    /// `traceExit` with the arguments and the result.
    TraceExitWith,
    /// `traceThrown` with the arguments.
    TraceThrownWith,
    /// `traceValue` for `int`: puts a value in front of a list of values.
    TraceInt,
    TraceLong,
    TraceFloat,
    TraceDouble,
    TraceObject,
    Alloc,
    AllocArray,
    AllocDimension,
    Init,
    NewArray,
}

/// The number of variants of [`Call`].
const CALLS: usize = 23;

impl Call {
    fn name(self, options: &Options) -> &str {
        let names = &options.names;
        match self {
            Call::Enter | Call::EnterOn => &names.enter,
            Call::Count => &names.count,
            Call::Exit => &names.exit,
            Call::Caught => &names.caught,
            Call::Construct => &names.construct,
            Call::Constructed => &names.constructed,
            Call::Ended => &names.ended,
            Call::TraceEnter => &names.trace_enter,
            Call::TraceExit | Call::TraceExitWith => &names.trace_exit,
            Call::TraceThrown | Call::TraceThrownWith => &names.trace_thrown,
            Call::TraceInt
            | Call::TraceLong
            | Call::TraceFloat
            | Call::TraceDouble
            | Call::TraceObject => &names.trace_value,
            Call::Alloc => &names.alloc,
            Call::AllocArray => &names.alloc_array,
            Call::AllocDimension => &names.alloc_dimension,
            Call::Init => &names.init,
            Call::NewArray => &names.new_array,
        }
    }

    /// Returns whether the arguments of the call are only the method's id and,
    /// depending on [`CallShape`], the class number.
    fn takes_method(self) -> bool {
        matches!(
            self,
            Call::Enter | Call::Count | Call::Exit | Call::Caught | Call::Constructed
        )
    }

    fn descriptor(self, options: &Options) -> &'static [u8] {
        match self {
            Call::Enter | Call::Count | Call::Exit | Call::Caught | Call::Constructed => {
                match options.call_shape {
                    CallShape::Id => b"(I)V",
                    CallShape::ClassAndMethod { .. } => b"(II)V",
                }
            }
            Call::TraceEnter => b"()J",
            Call::TraceExit => b"(JI)V",
            Call::TraceThrown => b"(Ljava/lang/Throwable;JI)V",
            Call::TraceExitWith => b"(Ljava/lang/Object;JI)V",
            Call::TraceThrownWith => b"(Ljava/lang/Throwable;Ljava/lang/Object;JI)V",
            Call::TraceInt => b"(ILjava/lang/Object;)Ljava/lang/Object;",
            Call::TraceLong => b"(JLjava/lang/Object;)Ljava/lang/Object;",
            Call::TraceFloat => b"(FLjava/lang/Object;)Ljava/lang/Object;",
            Call::TraceDouble => b"(DLjava/lang/Object;)Ljava/lang/Object;",
            Call::TraceObject => b"(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;",
            Call::EnterOn => b"(Ljava/lang/Object;I)V",
            Call::Alloc => b"(I)V",
            Call::AllocArray | Call::Ended => b"(II)V",
            Call::AllocDimension | Call::Construct => b"(III)V",
            Call::Init | Call::NewArray => b"(Ljava/lang/Object;)V",
        }
    }
}

/// The constants to which probes refer. Each is appended to the pool when a probe needs it for the first time.
#[derive(Clone, Copy, Debug, Default)]
struct Constants {
    owner: Option<CpIndex>,
    calls: [Option<CpIndex>; CALLS],
    /// The descriptor of all calls for which [`Call::takes_method`] returns true.
    method_descriptor: Option<CpIndex>,
    class_number: Option<CpIndex>,
}

/// A state of [`ProbeWriter`] that is restored if a method is not instrumented.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeMark {
    pool: PoolMark,
    constants: Constants,
}

/// Writes injected instruction sequences into a buffer of snippets.
#[derive(Debug, Default)]
pub(crate) struct ProbeWriter {
    pub(crate) snippets: Vec<u8>,
    pub(crate) pool: PoolAdditions,
    constants: Constants,
    /// Maximum number of operand stack slots that a probe of the method needs in addition to those
    /// of the surrounding code.
    pub(crate) extra_stack: u16,
}

impl ProbeWriter {
    /// Begins a class whose `constant_pool_count` is `pool_count`.
    pub(crate) fn begin_class(&mut self, pool_count: u16) {
        self.pool.reset(pool_count);
        self.constants = Constants::default();
    }

    /// Begins a method and drops the snippets of the previous one. Returns the state to which
    /// [`roll_back`](ProbeWriter::roll_back) can return.
    #[inline]
    pub(crate) fn begin_method(&mut self) -> ProbeMark {
        self.snippets.clear();
        self.extra_stack = 0;
        ProbeMark {
            pool: self.pool.mark(),
            constants: self.constants,
        }
    }

    /// Removes the constants that a method appended.
    pub(crate) fn roll_back(&mut self, mark: ProbeMark) {
        self.pool.roll_back(mark.pool);
        self.constants = mark.constants;
    }

    pub(super) fn position(&self) -> u32 {
        self.snippets.len() as u32
    }

    /// Returns the snippet of the instructions written since `start`.
    pub(super) fn finish(&self, start: u32) -> Snippet {
        Snippet {
            start,
            len: (self.position() - start) as u16,
        }
    }

    /// Makes one snippet of two: `first`, then `second`.
    pub(crate) fn join(&mut self, first: Snippet, second: Snippet) -> Snippet {
        if first.len == 0 {
            return second;
        }
        let start = self.position();
        for part in [first, second] {
            let range = part.start as usize..part.start as usize + usize::from(part.len);
            self.snippets.extend_from_within(range);
        }
        self.finish(start)
    }

    /// Returns the snippet of the instructions that `write` writes.
    pub(crate) fn snippet<E>(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<Snippet, E> {
        let start = self.position();
        write(self)?;
        Ok(self.finish(start))
    }

    /// Writes an opcode.
    pub(super) fn op(&mut self, opcode: Opcode) {
        self.snippets.push(opcode.byte());
    }

    /// Writes the shortest instruction that pushes an `int`. Only a value that does not fit into 16 bits needs a
    /// constant.
    pub(super) fn push_int(&mut self, value: i32) -> Result<(), PoolFull> {
        match value {
            -1..=5 => {
                let opcode = Opcode::Iconst0.byte().wrapping_add_signed(value as i8);
                self.snippets.push(opcode);
            }
            -128..=127 => {
                self.op(Opcode::Bipush);
                self.snippets.push(value as u8);
            }
            -32768..=32767 => {
                self.op(Opcode::Sipush);
                self.snippets
                    .extend_from_slice(&(value as i16).to_be_bytes());
            }
            _ => {
                let index = self.pool.integer(value)?;
                self.load_constant(index);
            }
        }
        Ok(())
    }

    fn load_constant(&mut self, index: CpIndex) {
        match u8::try_from(index.0) {
            Ok(short_index) => {
                self.op(Opcode::Ldc);
                self.snippets.push(short_index);
            }
            Err(_) => {
                self.op(Opcode::LdcW);
                self.snippets.extend_from_slice(&index.to_be_bytes());
            }
        }
    }

    /// Writes instructions that push the arguments of a call for which [`Call::takes_method`] returns true.
    pub(super) fn push_method(&mut self, id: u32, options: &Options) -> Result<(), PoolFull> {
        self.needs_stack(1);
        if let CallShape::ClassAndMethod { class } = options.call_shape {
            self.needs_stack(2);
            self.push_class_number(class)?;
        }
        self.push_int(id as i32)
    }

    /// Writes the instruction that pushes the class number, whose constant all methods of the class share.
    fn push_class_number(&mut self, class: u32) -> Result<(), PoolFull> {
        let value = class as i32;
        if (-32768..=32767).contains(&value) {
            return self.push_int(value);
        }
        let index = match self.constants.class_number {
            Some(index) => index,
            None => self.pool.integer(value)?,
        };
        self.constants.class_number = Some(index);
        self.load_constant(index);
        Ok(())
    }

    /// Writes a call of the tracker, whose arguments are on the stack.
    pub(super) fn call(&mut self, call: Call, options: &Options) -> Result<(), PoolFull> {
        let index = match self.constants.calls[call as usize] {
            Some(index) => index,
            None => self.append_call(call, options)?,
        };
        self.op(Opcode::Invokestatic);
        self.snippets.extend_from_slice(&index.to_be_bytes());
        Ok(())
    }

    /// Appends the constants of a call. Returns its `CONSTANT_Methodref`.
    fn append_call(&mut self, call: Call, options: &Options) -> Result<CpIndex, PoolFull> {
        let owner = match self.constants.owner {
            Some(owner) => owner,
            None => self.pool.class(options.owner.as_bytes())?,
        };
        self.constants.owner = Some(owner);
        let descriptor = match self.constants.method_descriptor {
            Some(index) if call.takes_method() => index,
            _ => self.pool.utf8(call.descriptor(options))?,
        };
        if call.takes_method() {
            self.constants.method_descriptor = Some(descriptor);
        }
        let name = call.name(options).as_bytes();
        let index = self.pool.method(owner, name, descriptor)?;
        self.constants.calls[call as usize] = Some(index);
        Ok(index)
    }

    /// Writes the instruction that loads or stores a local variable.
    pub(super) fn local(&mut self, opcode: Opcode, local: u16) {
        match u8::try_from(local) {
            Ok(short_local) => {
                self.op(opcode);
                self.snippets.push(short_local);
            }
            Err(_) => {
                self.op(Opcode::Wide);
                self.op(opcode);
                self.snippets.extend_from_slice(&local.to_be_bytes());
            }
        }
    }

    /// Records that a probe needs `slots` operand-stack slots.
    pub(super) fn needs_stack(&mut self, slots: u16) {
        self.extra_stack = self.extra_stack.max(slots);
    }
}
