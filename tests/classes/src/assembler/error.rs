//! Errors of the assembler.

use std::fmt;

use super::frame_form::FrameForm;

/// The reason why a class could not be assembled.
///
/// The builders record the first error and continue, so that test code needs no `?` after each
/// instruction. [`super::ClassBuilder::finish`] returns the error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssembleError {
    /// The offset of a 16-bit branch does not fit in a `branchbyte` pair.
    BranchOutOfRange {
        /// Offset of the branch.
        from: usize,
        /// Offset of its target.
        to: usize,
    },
    /// A label was used and never bound.
    UnboundLabel(usize),
    /// A label was bound twice.
    LabelBoundTwice(usize),
    /// Code is empty or longer than 65,535 bytes (JVMS §4.7.3).
    CodeLength(usize),
    /// More than 65,534 constant-pool entries (JVMS §4.1).
    PoolFull,
    /// A count or value does not fit in its field.
    TooBig {
        /// The field.
        what: &'static str,
        /// The value.
        value: usize,
    },
    /// A frame cannot be written in the form that was forced.
    FrameForm {
        /// Offset of the frame.
        pc: usize,
        /// The form that was requested.
        form: FrameForm,
    },
    /// Two frames have one offset (JVMS §4.7.4: offsets ascend strictly).
    FrameTwice(usize),
    /// A descriptor does not parse (JVMS §4.3).
    Descriptor(String),
    /// The requested length of a filler is too short for its contents.
    Filler {
        /// Requested number of bytes.
        asked: usize,
        /// Required number of bytes.
        needed: usize,
    },
    /// An error in a method: the method, and the error.
    In(String, Box<AssembleError>),
}

impl fmt::Display for AssembleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BranchOutOfRange { from, to } => {
                write!(f, "branch at {from} to {to} does not fit in 16 bits")
            }
            Self::UnboundLabel(label) => write!(f, "label {label} is not bound"),
            Self::LabelBoundTwice(label) => write!(f, "label {label} is bound twice"),
            Self::CodeLength(length) => write!(f, "code has {length} bytes"),
            Self::PoolFull => write!(f, "constant pool is full"),
            Self::TooBig { what, value } => write!(f, "{what} {value} does not fit"),
            Self::FrameForm { pc, form } => write!(f, "frame at {pc} cannot be {form:?}"),
            Self::FrameTwice(pc) => write!(f, "two frames at {pc}"),
            Self::Descriptor(text) => write!(f, "bad descriptor {text}"),
            Self::Filler { asked, needed } => {
                write!(
                    f,
                    "a filler of {asked} bytes was requested, but its contents need {needed}"
                )
            }
            Self::In(method, inner) => write!(f, "{method}: {inner}"),
        }
    }
}

impl std::error::Error for AssembleError {}

/// The result of assembling.
pub type Result<T> = std::result::Result<T, AssembleError>;

/// Converts `value` to a `u2`. The error names the field `what`.
pub(crate) fn u2(what: &'static str, value: usize) -> Result<u16> {
    u16::try_from(value).map_err(|_| AssembleError::TooBig { what, value })
}
