//! Writes an archive entry by entry.

use std::io::{self, Seek, Write};

use rawzip::ReaderAt;

use super::read::Archive;
use super::record::{self, Facts};
use super::spool::{Data, Spool};
use super::{DEFLATED, STORED, deflate};

/// An entry's content as it is written to the archive.
#[derive(Debug)]
pub struct Packed {
    facts: Facts,
    data: Data,
}

impl Packed {
    /// Packs `content`. Stores it if `method` is [`STORED`], else deflates it.
    pub fn new(content: &[u8], method: u16) -> Packed {
        let data = match method {
            STORED => content.to_vec(),
            _ => deflate::pack(content),
        };
        let (crc, size) = (deflate::checksum(content), content.len() as u64);
        Packed {
            facts: facts(method, crc, data.len() as u64, size),
            data: Data::Memory(data),
        }
    }

    /// Does the same as [`new`](Packed::new) for content that may be large.
    ///
    /// # Errors
    /// Fails if a temporary file cannot be written or read.
    pub fn spooled(content: Spool, method: u16) -> io::Result<Packed> {
        let (crc, size) = content.sums();
        let (data, compressed) = match (content.into_data(), method) {
            (Data::Memory(bytes), _) => return Ok(Packed::new(&bytes, method)),
            (data, STORED) => (data, size),
            (Data::File(mut file), _) => {
                file.rewind()?;
                let mut packed = Spool::new();
                deflate::pack_all(file, &mut packed)?;
                let (_, compressed) = packed.sums();
                (packed.into_data(), compressed)
            }
        };
        let facts = facts(method, crc, compressed, size);
        Ok(Packed { facts, data })
    }
}

fn facts(method: u16, crc: u32, compressed: u64, size: u64) -> Facts {
    Facts {
        method: if method == STORED { STORED } else { DEFLATED },
        crc,
        compressed,
        size,
    }
}

/// An archive that is being written.
#[derive(Debug)]
pub struct Output<W> {
    out: W,
    at: u64,
    base: u64,
    /// For each entry of the old archive, by its number in the directory: the new offset, and the
    /// facts if the content is new. `None` for an alias and for an entry that was left out.
    old: Vec<Option<(u64, Option<Facts>)>>,
    /// Directory records of new entries.
    new: Vec<Vec<u8>>,
}

impl<W: Write> Output<W> {
    /// Makes an output, and writes the bytes before the first entry of `archive` to it.
    ///
    /// # Errors
    /// Fails if reading or writing fails.
    pub fn new<R: ReaderAt>(out: W, archive: &Archive<R>) -> io::Result<Output<W>> {
        let mut output = Output {
            out,
            at: 0,
            base: archive.base,
            old: vec![None; archive.entries.len()],
            new: Vec::new(),
        };
        let starts = archive.entries.iter().map(|entry| entry.local.start);
        let first = starts.min().unwrap_or(archive.directory_offset);
        output.copy_range(&archive.source, 0, first)?;
        Ok(output)
    }

    /// Copies an entry and its aliases unchanged.
    ///
    /// # Errors
    /// Fails if reading or writing fails.
    pub fn copy<R: ReaderAt>(&mut self, archive: &Archive<R>, entry: usize) -> io::Result<()> {
        self.old[entry] = Some((self.at, None));
        let local = archive.entries[entry].local.clone();
        self.copy_range(&archive.source, local.start, local.end)
    }

    /// Writes an entry with another content. Its aliases get the same content.
    ///
    /// # Errors
    /// Fails if reading or writing fails.
    pub fn replace<R: ReaderAt>(
        &mut self,
        archive: &Archive<R>,
        entry: usize,
        packed: &Packed,
    ) -> io::Result<()> {
        self.old[entry] = Some((self.at, Some(packed.facts)));
        let header = archive
            .local_header(&archive.entries[entry])
            .map_err(io::Error::other)?;
        self.put(&record::local(&header, packed.facts))?;
        self.put_data(packed)?;
        self.copy_gap(archive, entry, &header)
    }

    /// Leaves out an entry and its aliases, but copies the bytes after it that belong
    /// to no entry.
    ///
    /// # Errors
    /// Fails if reading or writing fails.
    pub fn leave_out<R: ReaderAt>(&mut self, archive: &Archive<R>, entry: usize) -> io::Result<()> {
        let header = archive
            .local_header(&archive.entries[entry])
            .map_err(io::Error::other)?;
        self.copy_gap(archive, entry, &header)
    }

    fn copy_gap<R: ReaderAt>(
        &mut self,
        archive: &Archive<R>,
        entry: usize,
        header: &[u8],
    ) -> io::Result<()> {
        let entry = &archive.entries[entry];
        let from = archive.data_end(entry, header)?;
        self.copy_range(&archive.source, from, entry.local.end)
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// Fails if writing fails.
    pub fn add(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.add_packed(name, &Packed::new(content, DEFLATED))
    }

    /// Adds an entry whose content is packed already.
    ///
    /// # Errors
    /// Fails if reading or writing fails.
    pub fn add_packed(&mut self, name: &str, packed: &Packed) -> io::Result<()> {
        let offset = self.at - self.base;
        let fresh = record::fresh_directory(name.as_bytes());
        self.new
            .push(record::directory(&fresh, packed.facts, true, offset));
        self.put(&record::local(
            &record::fresh_local(name.as_bytes()),
            packed.facts,
        ))?;
        self.put_data(packed)
    }

    /// Writes the directory and the end of the archive. Entries that were neither
    /// copied nor replaced are not in the directory.
    ///
    /// # Errors
    /// Fails if writing fails.
    pub fn finish<R: ReaderAt>(mut self, archive: &Archive<R>) -> io::Result<W> {
        let start = self.at;
        let mut entries = 0;
        let old = std::mem::take(&mut self.old);
        for (at, entry) in archive.entries.iter().enumerate() {
            let Some((offset, facts)) = old[entry.alias_of.unwrap_or(at)] else {
                continue;
            };
            let offset = offset - self.base;
            let is_new = facts.is_some();
            let facts = facts.unwrap_or(entry.facts);
            self.put(&record::directory(
                archive.record(entry),
                facts,
                is_new,
                offset,
            ))?;
            entries += 1;
        }
        for record in std::mem::take(&mut self.new) {
            self.put(&record)?;
            entries += 1;
        }
        let records = self.at - start;
        let end = archive.ending.written(entries, start, records, self.base);
        self.put(&end)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn put_data(&mut self, packed: &Packed) -> io::Result<()> {
        self.at += packed.facts.compressed;
        packed.data.copy_to(&mut self.out)
    }

    fn copy_range(&mut self, source: &impl ReaderAt, from: u64, to: u64) -> io::Result<()> {
        let mut buffer = vec![0; (to - from).min(1 << 20) as usize];
        let mut at = from;
        while at < to {
            let piece = &mut buffer[..(to - at).min(1 << 20) as usize];
            source.read_exact_at(piece, at)?;
            self.put(piece)?;
            at += piece.len() as u64;
        }
        Ok(())
    }
}
