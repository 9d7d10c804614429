//! Reads the bytes of a dump in order, and knows their position.

use std::io::{self, Read};

use crate::error::{Error, ErrorKind, Result};
use crate::gzip::TrailingBytes;

/// Size of the window in bytes. The contents of an array, the field values of an instance, or a name may be
/// longer.
const BUFFER: usize = 1 << 20;

/// A source of bytes and a window into it.
pub(crate) struct Input<R> {
    source: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Position of the buffer's first byte in the dump.
    base: u64,
    /// True if the source ended in the middle of compressed data.
    is_cut_off: bool,
    /// True if bytes that are not compressed follow the compressed data.
    pub(crate) has_trailing_bytes: bool,
}

impl<R: Read> Input<R> {
    pub(crate) fn new(source: R) -> Input<R> {
        Input {
            source,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            start: 0,
            end: 0,
            base: 0,
            is_cut_off: false,
            has_trailing_bytes: false,
        }
    }

    /// Returns the position of the next byte in the dump.
    pub(crate) fn at(&self) -> u64 {
        self.base + self.start as u64
    }

    #[cold]
    pub(crate) fn error<T>(&self, kind: ErrorKind) -> Result<T> {
        let at = self.at();
        Err(Error { kind, at })
    }

    /// Reads until the window has `wanted` bytes or the source ends.
    fn fill(&mut self, wanted: usize) -> Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.base += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        while self.end < wanted {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The file ends within a gzip member.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    self.is_cut_off = true;
                    break;
                }
                Err(error)
                    if error
                        .get_ref()
                        .is_some_and(|error| error.is::<TrailingBytes>()) =>
                {
                    self.has_trailing_bytes = true;
                    break;
                }
                Err(error) => return self.error(ErrorKind::Io(error)),
            }
        }
        Ok(())
    }

    /// Reads the next `length` bytes, at most [`BUFFER`].
    pub(crate) fn take(&mut self, length: usize, what: &'static str) -> Result<&[u8]> {
        if self.end - self.start < length {
            if length > BUFFER {
                let length = length as u64;
                return self.error(ErrorKind::BadLength { what, length });
            }
            self.fill(length)?;
            if self.end < length {
                return self.truncated(what);
            }
        }
        let from = self.start;
        self.start += length;
        Ok(&self.buffer[from..self.start])
    }

    /// Returns the error for a dump that ends too soon. Its last bytes count as read.
    #[cold]
    fn truncated<T>(&mut self, what: &'static str) -> Result<T> {
        self.start = self.end;
        self.error(ErrorKind::Truncated(what))
    }

    /// Returns the next bytes of the window: at least one unit of `unit` bytes, at most `most` bytes. The number
    /// of bytes is a multiple of `unit`; so must `most` be.
    pub(crate) fn some(&mut self, most: u64, unit: usize, what: &'static str) -> Result<&[u8]> {
        if self.end - self.start < unit {
            self.fill(unit)?;
            if self.end < unit {
                return self.truncated(what);
            }
        }
        let there = self.end - self.start;
        let length = usize::try_from(most).map_or(there, |most| most.min(there));
        let length = length - length % unit;
        let from = self.start;
        self.start += length;
        Ok(&self.buffer[from..self.start])
    }

    pub(crate) fn skip(&mut self, length: u64, what: &'static str) -> Result<()> {
        let mut left = length;
        while left > 0 {
            left -= self.some(left, 1, what)?.len() as u64;
        }
        Ok(())
    }

    /// Returns whether the dump ends here. Fails if compressed data is cut off here.
    pub(crate) fn is_at_end(&mut self) -> Result<bool> {
        if self.start == self.end {
            self.fill(1)?;
        }
        if self.start == self.end && self.is_cut_off {
            return self.truncated("the gzip data");
        }
        Ok(self.start == self.end)
    }

    pub(crate) fn u1(&mut self, what: &'static str) -> Result<u8> {
        self.take(1, what).map(|bytes| bytes[0])
    }

    pub(crate) fn u2(&mut self, what: &'static str) -> Result<u16> {
        self.take(2, what).map(|bytes| number(bytes) as u16)
    }

    pub(crate) fn u4(&mut self, what: &'static str) -> Result<u32> {
        self.take(4, what).map(|bytes| number(bytes) as u32)
    }

    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u64> {
        self.take(8, what).map(number)
    }
}

/// Returns the big-endian number in up to 8 bytes.
#[inline]
#[must_use]
pub fn number(bytes: &[u8]) -> u64 {
    match *bytes {
        [a, b, c, d, e, f, g, h] => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
        [a, b, c, d] => u64::from(u32::from_be_bytes([a, b, c, d])),
        _ => bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)),
    }
}
