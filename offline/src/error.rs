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
        "{0} is signed, and a signature does not survive a change: --strip-signatures removes it"
    )]
    Signed(String),
    /// Classes call a tracker already.
    #[error("{0} carries probes already: --skip-instrumented keeps such classes as they are")]
    Instrumented(String),
    /// Something cannot be read, and the plan is strict.
    #[error("{0}")]
    Unreadable(String),
    /// A class that was named itself is none.
    #[error("{0}")]
    NoClass(loadhook_rewrite::Error),
    /// Somebody asked to stop.
    #[error("interrupted")]
    Interrupted,
}
