//! Reading an archive's directory, and entries.

use std::io;
use std::ops::Range;

use rawzip::{ReaderAt, ZipLocator};
use thiserror::Error;

use super::descriptor;
use super::ending::{END_LEN, Ending};
use super::record::{DIRECTORY, DIRECTORY_LEN, Facts, HAS_DESCRIPTOR, LOCAL, LOCAL_LEN, u2, u4};

/// What an archive may be like at most before it is refused.
const MOST_ENTRIES: u64 = 4 << 20;
const LARGEST_DIRECTORY: u64 = 1 << 30;

/// A file that is no archive, or a damaged one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ZipError {
    /// Reading failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It has no directory.
    #[error("no archive: {0}")]
    NoArchive(String),
    /// The directory contradicts itself, or the local records.
    #[error("damaged archive: {what} (entry {entry})")]
    Damaged {
        /// What is wrong.
        what: &'static str,
        /// The entry's number in the directory, from 0.
        entry: usize,
    },
    /// More than we take.
    #[error("the archive's directory is too large: {entries} entries, {bytes} bytes")]
    TooLarge {
        /// How many entries it says it has.
        entries: u64,
        /// The directory's length.
        bytes: u64,
    },
}

/// An archive that is read from `R`.
#[derive(Debug)]
pub struct Archive<R> {
    pub(super) source: R,
    pub(super) entries: Vec<Entry>,
    /// The directory's records as they stand in the file.
    directory: Vec<u8>,
    pub(super) directory_offset: u64,
    /// What lies before the place that offsets count from: a launcher script.
    pub(super) base: u64,
    pub(super) ending: Ending,
}

/// An entry of the directory.
#[derive(Clone, Debug)]
pub struct Entry {
    record: Range<usize>,
    pub(super) facts: Facts,
    pub(super) is_encrypted: bool,
    /// Where its local record begins, and where the next thing does.
    pub(super) local: Range<u64>,
}

impl Entry {
    /// [`STORED`](super::STORED), [`DEFLATED`](super::DEFLATED), or another.
    pub fn method(&self) -> u16 {
        self.facts.method
    }

    /// The length of its content in bytes, as the directory says: not to be
    /// trusted.
    pub fn size(&self) -> u64 {
        self.facts.size
    }

    /// The CRC-32 of its content, as the directory says.
    pub fn crc(&self) -> u32 {
        self.facts.crc
    }

    /// Where it begins in the archive.
    pub fn offset(&self) -> u64 {
        self.local.start
    }

    /// How long it is in the archive.
    pub fn stored_size(&self) -> u64 {
        self.local.end - self.local.start
    }
}

impl<R: ReaderAt> Archive<R> {
    /// Reads the directory of an archive of `len` bytes.
    ///
    /// # Errors
    /// When there is no directory, or it points to where no entry is, or two
    /// entries overlap.
    pub fn open(source: R, len: u64) -> Result<Archive<R>, ZipError> {
        let mut buffer = vec![0; rawzip::RECOMMENDED_BUFFER_SIZE];
        let no_archive = |error: rawzip::Error| ZipError::NoArchive(error.to_string());
        let located = ZipLocator::new()
            .locate_in_reader(&source, &mut buffer, len)
            .map_err(|(_, error)| no_archive(error))?;
        let directory_offset = located.directory_offset();
        // The zip64 end record, where there is one, lies between.
        let bytes = located.eocd_offset().saturating_sub(directory_offset);
        let hint = located.entries_hint();
        if hint > MOST_ENTRIES || bytes > LARGEST_DIRECTORY {
            return Err(ZipError::TooLarge {
                entries: hint,
                bytes,
            });
        }
        let eocd_offset = located.eocd_offset();
        if len.saturating_sub(eocd_offset) < END_LEN {
            return Err(ZipError::NoArchive("its end record is cut".to_owned()));
        }
        let mut end = vec![0; (len - eocd_offset) as usize];
        source.read_exact_at(&mut end, eocd_offset)?;

        let mut entries = Vec::new();
        let mut base = 0;
        let mut directory = vec![0; bytes as usize];
        source.read_exact_at(&mut directory, directory_offset)?;
        if hint == 0 && !directory.starts_with(&DIRECTORY) {
            // Of nothing behind a launcher script, its place cannot be told.
            return Ok(Archive {
                source,
                entries,
                directory: Vec::new(),
                directory_offset: eocd_offset,
                base,
                ending: Ending::new(Vec::new(), eocd_offset, 0, end),
            });
        }
        let mut records = located.entries(&mut buffer);
        let mut records_end = 0;
        loop {
            let record = match records.next_entry() {
                Ok(Some(record)) => record,
                Ok(None) => break,
                // Something else stands between it and its end record.
                Err(_) if entries.len() as u64 == hint => break,
                Err(error) => return Err(no_archive(error)),
            };
            let damaged = |what| ZipError::Damaged {
                what,
                entry: entries.len(),
            };
            let at = record.central_directory_offset() - directory_offset;
            let record_range = range(&directory, at as usize).ok_or(damaged("no record"))?;
            records_end = record_range.end;
            let offset = record.local_header_offset();
            let written = u4(&directory, record_range.start + 42);
            if written != u32::MAX {
                base = offset - u64::from(written);
            }
            if offset >= directory_offset {
                return Err(damaged("it begins behind the directory"));
            }
            entries.push(Entry {
                facts: Facts {
                    method: record.compression_method().as_u16(),
                    crc: record.crc32(),
                    compressed: record.compressed_size_hint(),
                    size: record.uncompressed_size_hint(),
                },
                is_encrypted: record.flags().is_encrypted(),
                record: record_range,
                local: offset..offset,
            });
        }
        delimit(&mut entries, directory_offset)?;
        let behind = directory.split_off(records_end);
        directory.shrink_to_fit();
        let at = records_end as u64;
        Ok(Archive {
            source,
            entries,
            directory,
            directory_offset,
            base,
            ending: Ending::new(behind, directory_offset + at, at, end),
        })
    }

    /// The entries, in the directory's order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry's name as it is written: bytes, mostly UTF-8.
    pub fn name(&self, entry: &Entry) -> &[u8] {
        let record = self.record(entry);
        &record[DIRECTORY_LEN..DIRECTORY_LEN + usize::from(u2(record, 28))]
    }

    /// The directory's record of an entry.
    pub(super) fn record(&self, entry: &Entry) -> &[u8] {
        &self.directory[entry.record.clone()]
    }

    /// The whole directory; equal ones mean equal archives as far as names,
    /// sizes and checksums tell.
    pub fn directory(&self) -> &[u8] {
        &self.directory
    }

    /// The local record's header, with name and extra fields.
    pub(super) fn local_header(&self, entry: &Entry) -> Result<Vec<u8>, ZipError> {
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "no local record");
        let mut header = vec![0; LOCAL_LEN];
        self.source.read_exact_at(&mut header, entry.local.start)?;
        if header[..4] != LOCAL {
            return Err(damaged().into());
        }
        let len = LOCAL_LEN + usize::from(u2(&header, 26)) + usize::from(u2(&header, 28));
        if entry.facts.compressed.saturating_add(len as u64) > entry.stored_size() {
            return Err(damaged().into());
        }
        header.resize(len, 0);
        self.source.read_exact_at(
            &mut header[LOCAL_LEN..],
            entry.local.start + LOCAL_LEN as u64,
        )?;
        if header[LOCAL_LEN..LOCAL_LEN + usize::from(u2(&header, 26))] != *self.name(entry) {
            let other = "the local record has another name";
            return Err(io::Error::new(io::ErrorKind::InvalidData, other).into());
        }
        Ok(header)
    }

    /// Where the entry's data and their descriptor end, and what belongs to
    /// nothing begins. `header` is its local header.
    pub(super) fn data_end(&self, entry: &Entry, header: &[u8]) -> io::Result<u64> {
        let end = entry.local.start + header.len() as u64 + entry.facts.compressed;
        if u2(header, 6) & HAS_DESCRIPTOR == 0 {
            return Ok(end);
        }
        let mut behind = vec![0; (entry.local.end - end).min(descriptor::LONGEST as u64) as usize];
        self.source.read_exact_at(&mut behind, end)?;
        Ok(end + descriptor::len(&behind, entry.facts) as u64)
    }
}

/// The directory's record that begins there.
fn range(directory: &[u8], at: usize) -> Option<Range<usize>> {
    let header = directory.get(at..at.checked_add(DIRECTORY_LEN)?)?;
    let variable: usize = [28, 30, 32]
        .iter()
        .map(|part| usize::from(u2(header, *part)))
        .sum();
    let end = at + DIRECTORY_LEN + variable;
    (header[..4] == DIRECTORY && end <= directory.len()).then_some(at..end)
}

/// Finds where each local record ends: where the next one begins. What lies
/// between belongs to the one before it.
fn delimit(entries: &mut [Entry], end: u64) -> Result<(), ZipError> {
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|at| entries[*at].local.start);
    let mut next = end;
    for at in order.into_iter().rev() {
        let entry = &mut entries[at];
        entry.local.end = next;
        next = entry.local.start;
        let least = entry.facts.compressed.saturating_add(LOCAL_LEN as u64);
        if entry.local.end - entry.local.start < least {
            let what = "it overlaps another one";
            return Err(ZipError::Damaged { what, entry: at });
        }
    }
    Ok(())
}
