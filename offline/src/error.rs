//! What ends a rewriting.

use std::io;

use thiserror::Error;

use crate::zip::ZipError;

/// Why an input is not rewritten at all.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// An archive cannot be read.
    #[error(transparent)]
    Zip(#[from] ZipError),
    /// Its signature would not fit its rewritten classes.
    #[error(
        "{0} is signed, and instrumenting makes its signature invalid; add --strip-signatures to remove it"
    )]
    Signed(String),
    /// Classes call a tracker already.
    #[error("{0} is already instrumented; add --skip-instrumented to leave such classes unchanged")]
    Instrumented(String),
    /// An archive unpacks to more than the plan allows.
    #[error("{name} unpacks to more than {} MiB; raise --max-total", most >> 20)]
    TooMuch {
        /// The archive, or the one inside where it became too much.
        name: String,
        /// How many bytes are allowed.
        most: u64,
    },
    /// Something cannot be read, and there is no way round it or the plan is
    /// strict.
    #[error("{0}")]
    Unreadable(String),
    /// A class that was named itself is none.
    #[error("{0}")]
    NoClass(loadhook_rewrite::Error),
    /// Somebody asked to stop.
    #[error("interrupted")]
    Interrupted,
}
