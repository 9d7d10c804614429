//! Errors that end a rewriting.

use std::io;
use std::path::Path;

use thiserror::Error;

use crate::zip::ZipError;

/// An error because of which an input cannot be rewritten.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// An archive cannot be read.
    #[error(transparent)]
    Zip(#[from] ZipError),
    /// An archive is signed, and rewriting its classes would make the signature invalid.
    #[error(
        "{0} is signed, and instrumenting makes its signature invalid; add --strip-signatures to remove it"
    )]
    Signed(String),
    /// The classes of the input call a tracker already: the input was instrumented before.
    #[error("{0} is already instrumented; add --skip-instrumented to leave such classes unchanged")]
    Instrumented(String),
    /// An archive unpacks to more than the plan allows.
    #[error("{name} unpacks to more than {} MiB; raise --max-total", most >> 20)]
    TooMuch {
        /// The archive in which the limit was exceeded; it may be a nested one.
        name: String,
        /// The limit in bytes.
        most: u64,
    },
    /// A file or entry cannot be read, although it is required or the plan is strict.
    #[error("{0}")]
    Unreadable(String),
    /// A file that was given as a class is not a class file.
    #[error("{0}")]
    NoClass(loadhook_rewrite::Error),
    /// [`Progress`](crate::Progress) requested the end.
    #[error("interrupted")]
    Interrupted,
}

/// Adds the path to the text of an error.
pub(crate) fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
