//! What can be wrong with a dump.

use std::fmt;
use std::io;

/// Why a dump could not be read to its end, and where.
#[derive(Debug, thiserror::Error)]
#[error("{kind} at byte {at}")]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Offset in the dump, of a compressed one in what it unpacks to.
    pub at: u64,
}

/// What is wrong with a dump.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file could not be read or unpacked.
    #[error("{0}")]
    Io(io::Error),
    /// There is not a byte.
    #[error("not a heap dump: the file is empty")]
    Empty,
    /// The file begins like none.
    #[error("not a heap dump: it does not begin with `JAVA PROFILE 1.0.1` or `1.0.2`")]
    NotADump,
    /// Identifiers are of 4 or 8 bytes.
    #[error("identifiers of {0} bytes")]
    IdSize(u32),
    /// The file ends too soon: the VM ended or the disk was full while it was written.
    #[error("the dump is cut off: it ends in {0}")]
    Truncated(&'static str),
    /// A record of the heap that is none.
    #[error("unknown heap record {0:#04x}")]
    UnknownRecord(u8),
    /// A type of a field or of elements that is none.
    #[error("unknown type {0}")]
    UnknownType(u8),
    /// A record of the heap does not fit into the segment around it.
    #[error("{0} passes the end of the segment")]
    PassesSegment(&'static str),
    /// A record is too short for what it has to hold.
    #[error("{what} has {length} bytes")]
    BadLength {
        /// Of what.
        what: &'static str,
        /// As the dump says.
        length: u64,
    },
    /// More of something than is kept.
    #[error("more than {most} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The limit.
        most: u64,
    },
    /// It is not the same when it is read again.
    #[error("the dump changed while it was read")]
    Changed,
    /// An object's class was not dumped, or not before it.
    #[error("class {0:#x} is not in the dump")]
    UnknownClass(u64),
}

impl Error {
    /// Whether the file ends too soon, and what was read till there is right.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        matches!(self.kind, ErrorKind::Truncated(_))
    }
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// The type of a field or of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Type {
    Object,
    Boolean,
    Char,
    Float,
    Double,
    Byte,
    Short,
    Int,
    Long,
}

impl Type {
    /// The type of a code of the format.
    pub(crate) fn of(code: u8) -> Option<Type> {
        Some(match code {
            2 => Type::Object,
            4 => Type::Boolean,
            5 => Type::Char,
            6 => Type::Float,
            7 => Type::Double,
            8 => Type::Byte,
            9 => Type::Short,
            10 => Type::Int,
            11 => Type::Long,
            _ => return None,
        })
    }

    /// Bytes of a value in memory and in the dump, where references are
    /// `reference` bytes long.
    pub(crate) fn size(self, reference: u32) -> u32 {
        match self {
            Type::Object => reference,
            Type::Boolean | Type::Byte => 1,
            Type::Char | Type::Short => 2,
            Type::Float | Type::Int => 4,
            Type::Double | Type::Long => 8,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Type::Object => "Object",
            Type::Boolean => "boolean",
            Type::Char => "char",
            Type::Float => "float",
            Type::Double => "double",
            Type::Byte => "byte",
            Type::Short => "short",
            Type::Int => "int",
            Type::Long => "long",
        })
    }
}
