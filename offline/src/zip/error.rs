//! The error of reading an archive.

use std::io;

use thiserror::Error;

/// The fault of a file that is not an archive, or of a damaged archive.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ZipError {
    /// Reading failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file has no directory of an archive.
    #[error("not an archive: {0}")]
    NoArchive(String),
    /// The directory contradicts itself or the local records.
    #[error("damaged archive: entry {entry} of its directory: {what}")]
    Damaged {
        /// The fault.
        what: &'static str,
        /// The entry's number in the directory, from 0.
        entry: usize,
    },
    /// The directory is larger than the limit.
    #[error(
        "the archive's directory is too large: it has {0} bytes; \
         the limits are 4194304 entries and 1073741824 bytes"
    )]
    TooLarge(u64),
}
