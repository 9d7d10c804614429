//! Errors of the assembler.

use std::fmt;

use super::frame_form::FrameForm;

/// Why a class could not be assembled.
///
/// The builders note the first error and go on, so that test code need not
/// carry a `?` on every instruction; [`super::ClassBuilder::finish`] reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssembleError {
    /// A 16-bit branch whose offset does not fit in a `branchbyte` pair.
    BranchOutOfRange {
        /// Where the branch stands.
        from: usize,
        /// Where it should go.
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
    /// A count or value that does not fit in its field.
    TooBig {
        /// The field.
        what: &'static str,
        /// The value.
        value: usize,
    },
    /// A frame cannot be written in the form that was forced.
    FrameForm {
        /// Where the frame applies.
        pc: usize,
        /// The form asked for.
        form: FrameForm,
    },
    /// Two frames at one offset (JVMS §4.7.4: offsets ascend strictly).
    FrameTwice(usize),
    /// A descriptor that does not parse (JVMS §4.3).
    Descriptor(String),
    /// A filler was asked to be shorter than what it must contain.
    Filler {
        /// Bytes asked for.
        asked: usize,
        /// Bytes needed.
        needed: usize,
    },
    /// The method it happened in.
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
            Self::CodeLength(length) => write!(f, "code of {length} bytes"),
            Self::PoolFull => write!(f, "constant pool is full"),
            Self::TooBig { what, value } => write!(f, "{what} {value} does not fit"),
            Self::FrameForm { pc, form } => write!(f, "frame at {pc} cannot be {form:?}"),
            Self::FrameTwice(pc) => write!(f, "two frames at {pc}"),
            Self::Descriptor(text) => write!(f, "bad descriptor {text}"),
            Self::Filler { asked, needed } => {
                write!(f, "filler of {asked} bytes needs {needed}")
            }
            Self::In(method, inner) => write!(f, "{method}: {inner}"),
        }
    }
}

impl std::error::Error for AssembleError {}

/// The result of assembling.
pub type Result<T> = std::result::Result<T, AssembleError>;

/// `value` as a `u2`, or an error that names the field.
pub(crate) fn u2(what: &'static str, value: usize) -> Result<u16> {
    u16::try_from(value).map_err(|_| AssembleError::TooBig { what, value })
}
