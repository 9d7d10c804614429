//! Faults of a dump.

use std::io;

/// The fault that stopped the reading of a dump, and its position.
#[derive(Debug, thiserror::Error)]
#[error("{kind} at byte {at}")]
pub struct Error {
    /// The fault.
    pub kind: ErrorKind,
    /// Offset of the fault in the dump, in bytes; in the unpacked bytes if the dump is compressed.
    pub at: u64,
}

/// A fault of a dump, or a limit of the visitor that reads it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file could not be read or unpacked.
    #[error("{0}")]
    Io(io::Error),
    /// The file has no bytes.
    #[error("not a heap dump: the file is empty")]
    Empty,
    /// The file does not begin with the header of a heap dump.
    #[error("not a heap dump: it does not begin with `JAVA PROFILE 1.0.1` or `1.0.2`")]
    NotADump,
    /// Identifiers have neither 4 nor 8 bytes.
    #[error("identifiers have {0} bytes, not 4 or 8")]
    IdSize(u32),
    /// The file ends too soon, because the JVM ended or the disk was full while the file was written.
    #[error("the dump is cut off: it ends in {0}")]
    Truncated(&'static str),
    /// The tag of a record in a heap segment is unknown.
    #[error("unknown heap record {0:#04x}")]
    UnknownRecord(u8),
    /// The code of a field's type or of an element type is unknown.
    #[error("unknown type code {0}")]
    UnknownType(u8),
    /// A heap record is longer than the rest of its segment.
    #[error("{0} is longer than the rest of its heap segment")]
    PassesSegment(&'static str),
    /// A record is too short for its contents, or longer than records of its kind can be.
    #[error("{what} cannot have {length} bytes")]
    BadLength {
        /// The kind of record.
        what: &'static str,
        /// The length that the dump gives.
        length: u64,
    },
    /// The visitor has no room for another item.
    #[error("more than {most} {what}")]
    TooMany {
        /// The kind of items that are limited, in the plural.
        what: &'static str,
        /// The limit.
        most: u64,
    },
    /// Another pass over the dump found other records than the first pass.
    #[error("the dump changed while it was read")]
    Changed,
}

impl Error {
    /// Returns whether the dump is cut off. The records before the end are correct.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        matches!(self.kind, ErrorKind::Truncated(_))
    }
}

pub(crate) type Result<T> = std::result::Result<T, Error>;
