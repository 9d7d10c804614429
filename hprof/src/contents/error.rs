//! Faults of a file in either format.

use crate::error::Error;
use crate::text::TextError;

/// The fault that stopped the reading of a file, and its place.
#[derive(Debug, thiserror::Error)]
pub enum ContentsError {
    /// A fault of a text file.
    #[error(transparent)]
    Text(#[from] TextError),
    /// A fault of a binary file.
    #[error(transparent)]
    Binary(#[from] Error),
}
