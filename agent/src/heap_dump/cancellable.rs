//! The file of a heap dump that can be cancelled.

use std::fs::File;
use std::io::{self, Read, Write};

/// A file whose reads and writes fail once `goes_on` returns false.
#[derive(Clone, Copy)]
pub(super) struct Cancellable<'f> {
    pub(super) file: &'f File,
    pub(super) goes_on: &'f dyn Fn() -> bool,
}

impl Cancellable<'_> {
    /// Fails if the dump is cancelled.
    pub(super) fn check(&self) -> io::Result<()> {
        if (self.goes_on)() {
            Ok(())
        } else {
            Err(io::Error::other("the dump was cancelled"))
        }
    }
}

impl Write for Cancellable<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check()?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Read for Cancellable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.check()?;
        self.file.read(buffer)
    }
}
