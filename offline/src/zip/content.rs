//! Reads the content of entries into memory, or provides it at any offset.

use std::io::{self, Read, Write};
use std::ops::Range;

use rawzip::{FileReader, RangeReader, ReaderAt};

use super::copy::copy;
use super::read::{Archive, Entry};
use super::spool::{Data, IN_MEMORY, Spool};
use super::{DEFLATED, STORED, deflate};

/// Highest compression ratio that deflate can reach.
const MOST_RATIO: u64 = 1033;

/// The content of an entry, of any length.
pub enum Content<'a> {
    /// A stored entry, which is read in the archive.
    InPlace {
        /// The archive.
        source: &'a (dyn ReaderAt + Sync),
        /// The range of the entry's data in the archive.
        range: Range<u64>,
    },
    /// The unpacked content.
    Memory(Vec<u8>),
    /// The unpacked content in a file, because it is too large for memory.
    File(FileReader),
}

impl ReaderAt for Content<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Content::InPlace { source, range } => {
                let left = (range.end - range.start).saturating_sub(offset);
                let len = left.min(buffer.len() as u64) as usize;
                source.read_at(&mut buffer[..len], range.start + offset)
            }
            Content::Memory(bytes) => bytes.read_at(buffer, offset),
            Content::File(file) => file.read_at(buffer, offset),
        }
    }
}

impl Entry {
    /// Returns the maximum number of bytes to which the entry unpacks; 0 if it is stored.
    pub fn unpacked_at_most(&self) -> u64 {
        match self.facts.method {
            STORED => 0,
            _ => self.facts.size.min(self.longest()),
        }
    }

    fn longest(&self) -> u64 {
        self.facts
            .compressed
            .saturating_add(64)
            .saturating_mul(MOST_RATIO)
    }
}

impl<R: ReaderAt> Archive<R> {
    /// Reads the content of an entry of at most `most` bytes, and checks its
    /// checksum.
    ///
    /// # Errors
    /// When the entry is larger, damaged, encrypted, or packed by another method than deflate.
    pub fn read(&self, entry: &Entry, most: u64) -> io::Result<Vec<u8>> {
        check(entry, most)?;
        let range = self.data(entry)?;
        let mut packed = vec![0; (range.end - range.start) as usize];
        self.source.read_exact_at(&mut packed, range.start)?;
        let content = match entry.facts.method {
            STORED => packed,
            _ => deflate::unpack(&packed, entry.facts.size as usize).ok_or_else(|| {
                invalid("damaged: the unpacked data does not have the stated length")
            })?,
        };
        check_sums(entry, deflate::checksum(&content), content.len() as u64)?;
        Ok(content)
    }

    /// Finds the entry's data.
    fn data(&self, entry: &Entry) -> io::Result<Range<u64>> {
        if entry.is_encrypted {
            return Err(invalid("encrypted"));
        }
        if !matches!(entry.facts.method, STORED | DEFLATED) {
            let method = entry.facts.method;
            return Err(invalid(&format!("compressed by method {method}")));
        }
        let header = self.local_header(entry).map_err(io::Error::other)?;
        let start = entry.local.start + header.len() as u64;
        Ok(start..start + entry.facts.compressed)
    }
}

impl<R: ReaderAt + Sync> Archive<R> {
    /// Returns the content of an entry so that it can be read at any offset. `most` is the maximum number of bytes to
    /// which a packed entry may unpack; a stored entry may be larger.
    ///
    /// # Errors
    /// See [`Archive::read`].
    pub fn content(&self, entry: &Entry, most: u64) -> io::Result<Content<'_>> {
        if entry.facts.method == STORED {
            let range = self.data(entry)?;
            let mut sums = Sums::default();
            copy(RangeReader::new(&self.source, range.clone()), &mut sums)?;
            check_sums(entry, sums.crc.sum(), sums.len)?;
            let source = &self.source;
            return Ok(Content::InPlace { source, range });
        }
        if entry.facts.size <= IN_MEMORY as u64 {
            return Ok(Content::Memory(self.read(entry, most)?));
        }
        check(entry, most)?;
        let packed = RangeReader::new(&self.source, self.data(entry)?);
        let mut spool = Spool::new();
        // If the content is longer than the directory says, it is damaged. So at most one byte more is read.
        copy(
            deflate::unpacking(packed).take(entry.facts.size + 1),
            &mut spool,
        )?;
        let (crc, len) = spool.sums();
        check_sums(entry, crc, len)?;
        Ok(match spool.into_data() {
            Data::Memory(bytes) => Content::Memory(bytes),
            Data::File(file) => Content::File(file.into()),
        })
    }
}

/// A writer that computes the checksum and the length of all bytes written to it.
#[derive(Default)]
struct Sums {
    crc: libdeflater::Crc,
    len: u64,
}

impl Write for Sums {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.crc.update(bytes);
        self.len += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn check(entry: &Entry, most: u64) -> io::Result<()> {
    if entry.facts.size > most {
        return Err(invalid(&format!("larger than {} MiB", most >> 20)));
    }
    // A length that no compression ratio allows is refused before memory is allocated.
    if entry.facts.size > entry.longest() {
        return Err(invalid("damaged: the stated length is impossible"));
    }
    Ok(())
}

fn check_sums(entry: &Entry, crc: u32, len: u64) -> io::Result<()> {
    if len != entry.facts.size {
        return Err(invalid("damaged: the length is wrong"));
    }
    if crc != entry.facts.crc {
        return Err(invalid("damaged: the checksum is wrong"));
    }
    Ok(())
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}
