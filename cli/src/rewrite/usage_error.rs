//! Errors in the command line.

use std::fmt;

use anyhow::Result;

/// A wrong argument, or one that cannot be combined with another. The command ends
/// with exit code 2.
#[derive(Debug)]
pub(super) struct UsageError(String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// Fails with a [`UsageError`].
pub(super) fn usage_error<T>(line: String) -> Result<T> {
    Err(UsageError(line).into())
}
