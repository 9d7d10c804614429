//! Errors that say what is wrong with a class file, where, and in which part.

use std::fmt;

use crate::cp_index::CpIndex;

/// The result of reading a class file.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A fault in a class file: its kind, the byte offset it was found at, and the
/// structure that holds it.
///
/// One machine word wide, so that `Result<u16>` stays in registers on the hot
/// path.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    offset: usize,
    place: Place,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes end before the structure does.
    UnexpectedEof {
        /// How many bytes the structure asked for.
        needed: usize,
        /// How many were left.
        left: usize,
    },
    /// Bytes follow the end of the class or of a structure of known length.
    TrailingBytes(usize),
    /// The first four bytes are not `CAFEBABE` (JVMS §4.1).
    BadMagic(u32),
    /// A version below 45 (JVMS §4.1).
    UnsupportedVersion {
        /// `major_version`.
        major: u16,
        /// `minor_version`.
        minor: u16,
    },
    /// More bytes than a class file can describe with 32-bit lengths.
    ClassTooLarge(usize),
    /// A `cp_info` tag that JVMS §4.4 does not define.
    BadConstantTag(u8),
    /// An index that is zero, past the pool or in the unusable half of a
    /// `Long` or `Double`.
    BadConstantIndex(CpIndex),
    /// A constant of another kind than the structure needs.
    WrongConstant {
        /// The index used.
        index: CpIndex,
        /// The tag the structure needs (JVMS table 4.4-A).
        expected: u8,
        /// The tag found.
        found: u8,
    },
    /// A byte that is no opcode of JVMS §6.5.
    BadOpcode(u8),
    /// `code_length` is zero or above 65,535 (JVMS §4.7.3).
    BadCodeLength(u32),
    /// A `tableswitch` or `lookupswitch` with impossible bounds.
    BadSwitch,
    /// A jump, handler or table entry that points at no instruction.
    BadBytecodeOffset(i64),
    /// A `frame_type` in 128–246, reserved by JVMS §4.7.4.
    BadFrameType(u8),
    /// A verification type tag that JVMS §4.7.4 does not define.
    BadVerificationTag(u8),
    /// Frames that do not fit the code they describe.
    BadFrame(&'static str),
    /// A `target_type` of a type annotation that cannot occur in `Code`
    /// (JVMS §4.7.20.1).
    BadTargetType(u8),
    /// An `element_value` tag that JVMS §4.7.16.1 does not define.
    BadElementValueTag(u8),
    /// Annotation values nested deeper than any compiler writes.
    AnnotationsTooDeep,
    /// A descriptor that does not follow JVMS §4.3.
    BadDescriptor,
    /// Two attributes where JVMS §4.7 allows one.
    DuplicateAttribute(&'static str),
    /// Code whose operand stack cannot be followed.
    BadOperandStack(&'static str),
    /// A method whose types take more time or memory to follow than any real
    /// one's; the bound is one on the whole class.
    TooComplex,
    /// A name in the options that no class or method can have.
    BadOption(&'static str),
    /// The caller's allocator gave no buffer, or one of another length.
    Allocation {
        /// The length asked for, in bytes.
        len: usize,
    },
}

/// The structure that holds the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The class file as a whole.
    Class,
    /// A constant, by its index.
    Constant(CpIndex),
    /// A field, by its position in `fields`.
    Field(u16),
    /// A method, by its position in `methods`.
    Method(u16),
    /// A named structure.
    In(&'static str),
}

impl Error {
    #[cold]
    pub(crate) fn new(kind: ErrorKind, offset: usize, place: Place) -> Self {
        Error(Box::new(Inner {
            kind,
            offset,
            place,
        }))
    }

    /// What is wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The offset in the class file of the first byte that is wrong.
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// The structure that holds it.
    pub fn place(&self) -> Place {
        self.0.place
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorKind::UnexpectedEof { needed, left } => {
                write!(f, "{needed} bytes needed, {left} left")
            }
            ErrorKind::TrailingBytes(n) => write!(f, "{n} bytes after the end"),
            ErrorKind::BadMagic(m) => write!(f, "not a class file (magic {m:08x})"),
            ErrorKind::UnsupportedVersion { major, minor } => {
                write!(f, "unsupported class-file version {major}.{minor}")
            }
            ErrorKind::ClassTooLarge(n) => write!(f, "class file of {n} bytes"),
            ErrorKind::BadConstantTag(t) => write!(f, "bad constant tag {t}"),
            ErrorKind::BadConstantIndex(i) => write!(f, "bad constant index #{i}"),
            ErrorKind::WrongConstant {
                index,
                expected,
                found,
            } => write!(
                f,
                "constant #{index} has tag {found}, tag {expected} expected"
            ),
            ErrorKind::BadOpcode(op) => write!(f, "bad opcode 0x{op:02x}"),
            ErrorKind::BadCodeLength(n) => write!(f, "bad code length {n}"),
            ErrorKind::BadSwitch => write!(f, "switch with impossible bounds"),
            ErrorKind::BadBytecodeOffset(o) => {
                write!(f, "no instruction at bytecode offset {o}")
            }
            ErrorKind::BadFrameType(t) => write!(f, "reserved frame type {t}"),
            ErrorKind::BadVerificationTag(t) => write!(f, "bad verification type tag {t}"),
            ErrorKind::BadFrame(why) => write!(f, "bad frame: {why}"),
            ErrorKind::BadTargetType(t) => {
                write!(f, "type annotation target 0x{t:02x} in code")
            }
            ErrorKind::BadElementValueTag(t) => write!(f, "bad element value tag {t}"),
            ErrorKind::AnnotationsTooDeep => write!(f, "annotation values nested too deep"),
            ErrorKind::BadDescriptor => write!(f, "bad descriptor"),
            ErrorKind::DuplicateAttribute(name) => write!(f, "second {name} attribute"),
            ErrorKind::BadOperandStack(why) => write!(f, "bad operand stack: {why}"),
            ErrorKind::TooComplex => write!(f, "types too many to follow"),
            ErrorKind::BadOption(what) => write!(f, "the {what} is no name that can be called"),
            ErrorKind::Allocation { len } => write!(f, "no buffer of {len} bytes"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Class => write!(f, "class file"),
            Place::Constant(i) => write!(f, "constant #{i}"),
            Place::Field(i) => write!(f, "field {i}"),
            Place::Method(i) => write!(f, "method {i}"),
            Place::In(what) => f.write_str(what),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            kind,
            offset,
            place,
        } = &*self.0;
        write!(f, "{kind} at 0x{offset:x} ({place})")
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
