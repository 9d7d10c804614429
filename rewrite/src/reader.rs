//! A cursor over borrowed bytes, with its offset in the class file.

use byteorder::{BigEndian, ByteOrder};

use crate::cp_index::CpIndex;
use crate::error::{Error, ErrorKind, Result, Structure};

/// Reads big-endian values from a slice, front to back, and checks each access.
///
/// Every method that reads returns [`ErrorKind::UnexpectedEof`] if too few bytes are left. Offsets in errors
/// count from the beginning of the class file, even if the reader is confined to a part of it.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    base: usize,
    structure: Structure,
}

impl<'a> Reader<'a> {
    /// Makes a reader of `bytes`, which are at offset `base` of the class file. Its errors name `structure`.
    pub fn new(bytes: &'a [u8], base: usize, structure: Structure) -> Self {
        Reader {
            bytes,
            position: 0,
            base,
            structure,
        }
    }

    /// Returns the offset in the class file of the next byte.
    #[inline]
    pub fn offset(&self) -> usize {
        self.base + self.position
    }

    /// Returns the number of bytes left to read.
    #[inline]
    pub fn left(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// Returns an error of this kind at the next byte.
    #[cold]
    pub fn error(&self, kind: ErrorKind) -> Error {
        Error::new(kind, self.offset(), self.structure)
    }

    #[cold]
    fn eof(&self, needed: usize) -> Error {
        self.error(ErrorKind::UnexpectedEof {
            needed,
            left: self.left(),
        })
    }

    /// Reads the next `len` bytes.
    #[inline]
    pub fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        match rest.get(..len) {
            Some(bytes) => {
                self.position += len;
                Ok(bytes)
            }
            None => Err(self.eof(len)),
        }
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        match rest.first_chunk::<N>() {
            Some(bytes) => {
                self.position += N;
                Ok(*bytes)
            }
            None => Err(self.eof(N)),
        }
    }

    /// Reads the next byte.
    #[inline]
    pub fn u1(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    /// Reads the next two bytes as an unsigned number.
    #[inline]
    pub fn u2(&mut self) -> Result<u16> {
        Ok(BigEndian::read_u16(&self.array::<2>()?))
    }

    /// Reads the next four bytes as an unsigned number.
    #[inline]
    pub fn u4(&mut self) -> Result<u32> {
        Ok(BigEndian::read_u32(&self.array::<4>()?))
    }

    /// Reads the next two bytes as an index into the constant pool.
    #[inline]
    pub fn cp_index(&mut self) -> Result<CpIndex> {
        self.u2().map(CpIndex)
    }

    /// Skips `len` bytes.
    #[inline]
    pub fn skip(&mut self, len: usize) -> Result<()> {
        self.take(len).map(|_| ())
    }

    /// Returns a reader that is confined to the next `len` bytes, and skips those bytes in this reader.
    #[inline]
    pub fn sub(&mut self, len: usize, structure: Structure) -> Result<Reader<'a>> {
        let base = self.offset();
        Ok(Reader::new(self.take(len)?, base, structure))
    }

    /// Checks that everything was read.
    ///
    /// # Errors
    /// [`ErrorKind::TrailingBytes`] when bytes are left.
    #[inline]
    pub fn finish(&self) -> Result<()> {
        match self.left() {
            0 => Ok(()),
            n => Err(self.error(ErrorKind::TrailingBytes(n))),
        }
    }
}
