//! The end of an archive: its end records, and the bytes after them.

use super::record::{MAX32, VERSION_ZIP64, put2, put4, put8, short, u2, u4};

pub(super) const END_LEN: u64 = 22;
pub(super) const END64: [u8; 4] = *b"PK\x06\x06";
pub(super) const END64_LEN: usize = 56;
pub(super) const LOCATOR64: [u8; 4] = *b"PK\x06\x07";
pub(super) const LOCATOR64_LEN: usize = 20;
const MAX16: u64 = u16::MAX as u64;

/// The end of an archive as it was read.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    /// The zip64 end record with its locator; empty if there is none.
    pub(super) end64: Vec<u8>,
    /// The end record, the comment, and the bytes after them.
    pub(super) end: Vec<u8>,
}

impl Ending {
    /// Returns the bytes after the fixed part of the end record: the comment and the bytes that
    /// follow it.
    pub(super) fn behind(&self) -> &[u8] {
        &self.end[END_LEN as usize..]
    }

    /// Makes the end of an archive. Its directory has `entries` entries and `records` bytes, and
    /// begins at offset `start` of the file. Offsets in the archive count from byte `base` of the
    /// file.
    pub(super) fn written(&self, entries: u64, start: u64, records: u64, base: u64) -> Vec<u8> {
        let mut out = Vec::new();
        let offset = start - base;
        let had64 = !self.end64.is_empty();
        // The JVM does not find the zip64 end record if bytes follow the comment of the end record.
        // It then counts the entries itself.
        let has_trailer = self.behind().len() > usize::from(u2(&self.end, 20));
        let too_many = entries >= MAX16 && !has_trailer;
        if had64 || too_many || records >= MAX32 || offset >= MAX32 {
            // The JDK counts this offset from the first byte of the file.
            let place = start + records;
            let mut end64 = if had64 {
                self.end64.clone()
            } else {
                fresh_end64()
            };
            for (at, value) in [(24, entries), (32, entries), (40, records), (48, offset)] {
                put8(&mut end64, at, value);
            }
            out.extend(end64);
            out.extend(LOCATOR64);
            out.extend([0; 4]);
            out.extend(place.to_le_bytes());
            out.extend(1_u32.to_le_bytes());
        }
        let mut end = self.end.clone();
        for at in [8, 10] {
            let points_on = had64 && end[at..at + 2] == [0xff; 2];
            if !points_on {
                put2(&mut end, at, entries.min(MAX16) as u16);
            }
        }
        for (at, value) in [(12, records), (16, offset)] {
            let points_on = had64 && u4(&end, at) == u32::MAX;
            if !points_on {
                put4(&mut end, at, short(value));
            }
        }
        out.extend(end);
        out
    }
}

fn fresh_end64() -> Vec<u8> {
    let mut record = vec![0; END64_LEN];
    record[..4].copy_from_slice(&END64);
    put8(&mut record, 4, END64_LEN as u64 - 12);
    put2(&mut record, 12, VERSION_ZIP64);
    put2(&mut record, 14, VERSION_ZIP64);
    record
}
