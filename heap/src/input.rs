//! Bytes of a dump in order, with their position.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;

use crate::error::{Error, ErrorKind, Result};

/// Bytes read at once. No record but an array's contents is longer.
const BUFFER: usize = 1 << 20;

/// The first bytes of what gzip wrote.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A source of bytes and a window into it.
pub(crate) struct Input<R> {
    source: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Position of the buffer's first byte.
    base: u64,
    /// The source ended where it says itself that more has to come.
    is_cut_off: bool,
    /// Other bytes follow what gzip packed.
    pub(crate) is_followed: bool,
}

/// What unpacks itself if it is gzip's.
pub(crate) fn unpacked<'r>(mut source: impl Read + 'r) -> io::Result<Box<dyn Read + 'r>> {
    let mut first = Vec::new();
    source.by_ref().take(2).read_to_end(&mut first)?;
    let is_packed = first == GZIP;
    let whole = io::Cursor::new(first).chain(source);
    Ok(match is_packed {
        true => {
            let whole = BufReader::with_capacity(1 << 17, whole);
            Box::new(Packed::Member(Box::new(GzDecoder::new(whole))))
        }
        false => Box::new(whole),
    })
}

/// What gzip packed, member by member.
enum Packed<R> {
    Member(Box<GzDecoder<R>>),
    End,
    Followed,
}

/// Whether nothing follows but what fills the last block of a tape or a disk.
fn ends_in_zeros(mut source: impl BufRead) -> io::Result<bool> {
    loop {
        let next = source.fill_buf()?;
        if next.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        let length = next.len();
        if length == 0 {
            return Ok(true);
        }
        source.consume(length);
    }
}

/// Bytes follow the last member that are none.
#[derive(Debug, thiserror::Error)]
#[error("other bytes follow what gzip packed")]
struct Followed;

impl<R: BufRead> Read for Packed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self {
                Packed::End => return Ok(0),
                Packed::Followed => return Err(io::Error::other(Followed)),
                Packed::Member(member) => {
                    let read = member.read(buffer)?;
                    if read > 0 || buffer.is_empty() {
                        return Ok(read);
                    }
                }
            }
            if let Packed::Member(member) = std::mem::replace(self, Packed::End) {
                let mut source = member.into_inner();
                let next = source.fill_buf()?;
                let begins = next.len().min(GZIP.len());
                if begins > 0 && next[..begins] == GZIP[..begins] {
                    *self = Packed::Member(Box::new(GzDecoder::new(source)));
                } else if !ends_in_zeros(source)? {
                    *self = Packed::Followed;
                }
            }
        }
    }
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
            is_followed: false,
        }
    }

    /// Position of the next byte.
    pub(crate) fn at(&self) -> u64 {
        self.base + self.start as u64
    }

    #[cold]
    pub(crate) fn error<T>(&self, kind: ErrorKind) -> Result<T> {
        let at = self.at();
        Err(Error { kind, at })
    }

    /// Reads on until there are `wanted` bytes in the window, or no more.
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
                // A file that was packed ends within a member.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    self.is_cut_off = true;
                    break;
                }
                Err(error) if error.get_ref().is_some_and(|error| error.is::<Followed>()) => {
                    self.is_followed = true;
                    break;
                }
                Err(error) => return self.error(ErrorKind::Io(error)),
            }
        }
        Ok(())
    }

    /// The next `length` bytes, at most [`BUFFER`].
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

    /// The dump ends here: all that is left of it counts as read.
    #[cold]
    fn truncated<T>(&mut self, what: &'static str) -> Result<T> {
        self.start = self.end;
        self.error(ErrorKind::Truncated(what))
    }

    /// At least one and at most `most` bytes, a multiple of `unit` where as
    /// many are wanted.
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

    /// Whether nothing is left, and nothing is missing of what was packed.
    pub(crate) fn is_at_end(&mut self) -> Result<bool> {
        if self.start == self.end {
            self.fill(1)?;
        }
        if self.start == self.end && self.is_cut_off {
            return self.truncated("what gzip packed");
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

/// Big-endian, of up to 8 bytes.
#[inline]
pub(crate) fn number(bytes: &[u8]) -> u64 {
    match *bytes {
        [a, b, c, d, e, f, g, h] => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
        [a, b, c, d] => u64::from(u32::from_be_bytes([a, b, c, d])),
        _ => bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)),
    }
}
