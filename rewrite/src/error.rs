//! Errors: the kind of a fault in a class file, its offset, and the structure that contains the fault.

use std::fmt;

use crate::cp_index::CpIndex;

/// The result of reading a class file.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A fault in a class file: its kind, its offset in bytes, and the structure that contains the fault.
///
/// The type is one machine word wide, so that `Result<u16>` stays in registers on
/// the hot path.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    offset: usize,
    structure: Structure,
}

/// The kinds of faults.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes end inside a structure.
    UnexpectedEof {
        /// The number of bytes that the structure needs.
        needed: usize,
        /// The number of bytes that were left.
        left: usize,
    },
    /// This number of bytes follows the end of the class, or the end of a structure whose length is known.
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
    /// The class has this number of bytes, which the 32-bit lengths of a class file cannot describe.
    ClassTooLarge(usize),
    /// A `cp_info` tag that JVMS §4.4 does not define.
    BadConstantTag(u8),
    /// An index that is 0, past the pool's end, or the second index of a `Long` or `Double`.
    BadConstantIndex(CpIndex),
    /// A constant with another tag than the structure needs.
    WrongConstant {
        /// The index used.
        index: CpIndex,
        /// The tag the structure needs (JVMS table 4.4-A).
        expected: u8,
        /// The tag found.
        found: u8,
    },
    /// A byte that is not an opcode of JVMS §6.5.
    BadOpcode(u8),
    /// `code_length` is zero or above 65,535 (JVMS §4.7.3).
    BadCodeLength(u32),
    /// A `tableswitch` or `lookupswitch` with impossible bounds.
    BadSwitch,
    /// The bytecode offset of a jump, handler or table entry. No instruction begins there.
    BadBytecodeOffset(i64),
    /// A `frame_type` in 128–246, reserved by JVMS §4.7.4.
    BadFrameType(u8),
    /// A verification type tag that JVMS §4.7.4 does not define.
    BadVerificationTag(u8),
    /// Frames that do not fit the code. The text tells what is wrong.
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
    /// A second attribute of this name, of which JVMS §4.7 allows only one.
    DuplicateAttribute(&'static str),
    /// Code in which the types on the operand stack cannot be followed. The text tells why.
    BadOperandStack(&'static str),
    /// A class whose types take more time or memory to follow than the types of any real class.
    TooComplex,
    /// Options that cannot be used. The text says which option is wrong, and why.
    BadOption(&'static str),
    /// The caller's allocator returned no buffer, or a buffer of another length.
    Allocation {
        /// The requested length in bytes.
        len: usize,
    },
}

/// The part of a class file that holds a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Structure {
    /// The class file as a whole.
    Class,
    /// A constant, by its index in the pool.
    Constant(CpIndex),
    /// A field, by its position in `fields`.
    Field(u16),
    /// A method, by its position in `methods`.
    Method(u16),
    /// Another structure, by its name: `StackMapTable`.
    Named(&'static str),
}

impl Error {
    #[cold]
    pub(crate) fn new(kind: ErrorKind, offset: usize, structure: Structure) -> Self {
        Error(Box::new(Inner {
            kind,
            offset,
            structure,
        }))
    }

    /// Returns the kind of the fault.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Returns the offset in the class file of the first wrong byte.
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// Returns the structure that holds the fault.
    pub fn structure(&self) -> Structure {
        self.0.structure
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorKind::UnexpectedEof { needed, left } => {
                write!(f, "{needed} bytes needed, {left} left")
            }
            ErrorKind::TrailingBytes(n) => write!(f, "{n} bytes follow the end of the structure"),
            ErrorKind::BadMagic(m) => write!(f, "not a class file (magic {m:08x})"),
            ErrorKind::UnsupportedVersion { major, minor } => {
                write!(f, "unsupported class-file version {major}.{minor}")
            }
            ErrorKind::ClassTooLarge(n) => write!(f, "class file of {n} bytes is too large"),
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
            ErrorKind::BadCodeLength(n) => {
                write!(f, "bad code length {n} (1 to 65535 are allowed)")
            }
            ErrorKind::BadSwitch => write!(f, "switch with impossible bounds"),
            ErrorKind::BadBytecodeOffset(o) => {
                write!(f, "no instruction at bytecode offset {o}")
            }
            ErrorKind::BadFrameType(t) => write!(f, "reserved frame type {t}"),
            ErrorKind::BadVerificationTag(t) => write!(f, "bad verification type tag {t}"),
            ErrorKind::BadFrame(why) => write!(f, "bad frame: {why}"),
            ErrorKind::BadTargetType(t) => {
                write!(f, "type annotation target 0x{t:02x} is not allowed in code")
            }
            ErrorKind::BadElementValueTag(t) => write!(f, "bad element value tag {t}"),
            ErrorKind::AnnotationsTooDeep => write!(f, "annotation values nested too deep"),
            ErrorKind::BadDescriptor => write!(f, "bad descriptor"),
            ErrorKind::DuplicateAttribute(name) => write!(f, "more than one {name} attribute"),
            ErrorKind::BadOperandStack(why) => write!(f, "bad operand stack: {why}"),
            ErrorKind::TooComplex => {
                write!(f, "code too complex: its types take too long to follow")
            }
            ErrorKind::BadOption(what) => {
                write!(f, "bad option: {what}")
            }
            ErrorKind::Allocation { len } => write!(f, "no buffer of {len} bytes was allocated"),
        }
    }
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Structure::Class => write!(f, "class file"),
            Structure::Constant(i) => write!(f, "constant #{i}"),
            Structure::Field(i) => write!(f, "field {i}"),
            Structure::Method(i) => write!(f, "method {i}"),
            Structure::Named(what) => f.write_str(what),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            kind,
            offset,
            structure,
        } = &*self.0;
        write!(f, "{kind} at 0x{offset:x} ({structure})")
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
