//! A file whose removal cancels the dump.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;

/// A file whose writes fail once it has no name. The command that asked for the dump removes the file to cancel it.
pub(super) struct Cancellable<'f>(pub(super) &'f File);

impl Cancellable<'_> {
    /// Fails if the dump is cancelled.
    pub(super) fn check(&self) -> io::Result<()> {
        match self.0.metadata()?.nlink() {
            0 => Err(io::Error::other("the dump was cancelled")),
            _ => Ok(()),
        }
    }
}

impl Write for Cancellable<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check()?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
