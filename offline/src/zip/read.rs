//! Reads an archive's directory and its local headers.

use std::fs::File;
use std::io;
use std::ops::Range;

use rawzip::{FileReader, ReaderAt};

use super::descriptor;
use super::ending::Ending;
use super::error::ZipError;
use super::locate::locate;
use super::record::{self, DIRECTORY, DIRECTORY_LEN, Facts, HAS_DESCRIPTOR, LOCAL, LOCAL_LEN, u2};

/// Limits: an archive with more entries or a larger directory is refused.
const MOST_ENTRIES: usize = 4 << 20;
const LARGEST_DIRECTORY: u64 = 1 << 30;

/// An archive that is read from `R`.
#[derive(Debug)]
pub struct Archive<R> {
    pub(super) source: R,
    pub(super) entries: Vec<Entry>,
    /// The bytes of the directory's records.
    directory: Vec<u8>,
    pub(super) directory_offset: u64,
    /// Position from which offsets count; for example, the length of a launcher script before the
    /// archive.
    pub(super) base: u64,
    pub(super) ending: Ending,
}

/// An entry of the directory.
#[derive(Clone, Debug)]
pub struct Entry {
    record: Range<usize>,
    pub(super) facts: Facts,
    pub(super) is_encrypted: bool,
    /// The range from the beginning of the entry's local record to the beginning of the next
    /// record.
    pub(super) local: Range<u64>,
    /// For an alias, the first entry with the same name and local record.
    pub(super) alias_of: Option<usize>,
}

impl Entry {
    /// Returns the compression method: [`STORED`](super::STORED), [`DEFLATED`](super::DEFLATED), or
    /// another.
    pub fn method(&self) -> u16 {
        self.facts.method
    }

    /// Returns the length of the entry's content in bytes, as the directory says. It may be wrong.
    pub fn size(&self) -> u64 {
        self.facts.size
    }

    /// Returns the CRC-32 of the entry's content, as the directory says.
    pub fn crc(&self) -> u32 {
        self.facts.crc
    }

    /// Returns whether this entry is an alias: a further record in the directory for the content of
    /// an earlier entry. If the content changes, both records change.
    pub fn is_alias(&self) -> bool {
        self.alias_of.is_some()
    }

    /// Returns the offset of the entry's local record in the archive.
    pub fn offset(&self) -> u64 {
        self.local.start
    }

    /// Returns the length of the entry's local record and of the bytes after it.
    pub fn stored_size(&self) -> u64 {
        self.local.end - self.local.start
    }
}

impl Archive<FileReader> {
    /// Reads the directory of an archive in a file.
    ///
    /// # Errors
    /// See [`Archive::open`].
    pub fn open_file(file: File) -> Result<Archive<FileReader>, ZipError> {
        let len = file.metadata()?.len();
        Archive::open(FileReader::from(file), len)
    }
}

impl<R: ReaderAt> Archive<R> {
    /// Reads the directory of an archive of `len` bytes.
    ///
    /// # Errors
    /// When there is no directory, or a record of the directory has no local record, or two entries
    /// overlap.
    pub fn open(source: R, len: u64) -> Result<Archive<R>, ZipError> {
        let located = locate(&source, len)?;
        let Range { start, end } = located.directory;
        let longest = (end - start).max(located.end64.end - located.end64.start);
        if longest > LARGEST_DIRECTORY {
            return Err(ZipError::TooLarge(longest));
        }
        let mut directory = vec![0; (end - start) as usize];
        source.read_exact_at(&mut directory, start)?;
        let mut entries = Vec::new();
        let mut at = 0;
        while at < directory.len() {
            let damaged = |what| ZipError::Damaged {
                what,
                entry: entries.len(),
            };
            if entries.len() == MOST_ENTRIES {
                return Err(ZipError::TooLarge(end - start));
            }
            let record = range(&directory, at)
                .ok_or(damaged("its record is cut off or has a wrong signature"))?;
            let written = record::written(&directory[record.clone()]);
            let offset = written.offset.saturating_add(located.base);
            if offset >= start {
                return Err(damaged("its local record is not before the directory"));
            }
            at = record.end;
            entries.push(Entry {
                facts: written.facts,
                is_encrypted: written.is_encrypted,
                record,
                local: offset..offset,
                alias_of: None,
            });
        }
        delimit(&mut entries, &directory, start)?;
        let mut end64 = vec![0; (located.end64.end - located.end64.start) as usize];
        source.read_exact_at(&mut end64, located.end64.start)?;
        Ok(Archive {
            source,
            entries,
            directory,
            directory_offset: start,
            base: located.base,
            ending: Ending {
                end64,
                end: located.end,
            },
        })
    }

    /// Returns the entries, in the directory's order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Finds the entry that the JVM reads by this name. If several entries have the name, that is the last one in
    /// the directory.
    pub fn find(&self, name: &[u8]) -> Option<&Entry> {
        let mut last_first = self.entries.iter().rev();
        last_first.find(|entry| self.name(entry) == name)
    }

    /// Returns the bytes of the entry's name, which are usually UTF-8.
    pub fn name(&self, entry: &Entry) -> &[u8] {
        name(self.record(entry))
    }

    /// Returns the directory's record of an entry.
    pub(super) fn record(&self, entry: &Entry) -> &[u8] {
        &self.directory[entry.record.clone()]
    }

    /// Returns the whole directory. Two archives with equal directories have equal names, sizes and
    /// checksums.
    pub fn directory(&self) -> &[u8] {
        &self.directory
    }

    /// Returns the header of an entry's local record, with name and extra fields.
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

    /// Returns the offset of the end of the entry's data and descriptor. Bytes from there to the
    /// next record belong to no entry. `header` is the entry's local header.
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

/// Returns the range of the directory's record that begins at `at`.
fn range(directory: &[u8], at: usize) -> Option<Range<usize>> {
    let header = directory.get(at..at.checked_add(DIRECTORY_LEN)?)?;
    let variable: usize = [28, 30, 32]
        .iter()
        .map(|part| usize::from(u2(header, *part)))
        .sum();
    let end = at + DIRECTORY_LEN + variable;
    (header[..4] == DIRECTORY && end <= directory.len()).then_some(at..end)
}

/// Returns the name in a directory's record.
fn name(record: &[u8]) -> &[u8] {
    &record[DIRECTORY_LEN..DIRECTORY_LEN + usize::from(u2(record, 28))]
}

/// Sets the end of each local record to the beginning of the next one. The directory may refer to a
/// local record twice.
fn delimit(entries: &mut [Entry], directory: &[u8], end: u64) -> Result<(), ZipError> {
    let starts = entries.iter().map(|entry| entry.local.start);
    let mut order: Vec<(u64, usize)> = starts.zip(0..).collect();
    order.sort_unstable();
    let mut next = end;
    for twins in order.chunk_by(|a, b| a.0 == b.0).rev() {
        let (start, first) = twins[0];
        let said = |entry: &Entry| (entry.facts, name(&directory[entry.record.clone()]));
        for (_, at) in twins {
            let entry = &entries[*at];
            let least = entry.facts.compressed.saturating_add(LOCAL_LEN as u64);
            if next - start < least || said(entry) != said(&entries[first]) {
                let what = "it overlaps another entry";
                return Err(ZipError::Damaged { what, entry: *at });
            }
            let entry = &mut entries[*at];
            entry.local.end = next;
            entry.alias_of = (*at != first).then_some(first);
        }
        next = start;
    }
    Ok(())
}
