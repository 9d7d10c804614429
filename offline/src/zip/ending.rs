//! What follows the directory: the end records, and whatever else stands there.

use super::record::{MAX32, VERSION_ZIP64, put2, put4, put8, short, u4, u8};

pub(super) const END_LEN: u64 = 22;
const END64: [u8; 4] = *b"PK\x06\x06";
const END64_LEN: usize = 56;
const LOCATOR64: [u8; 4] = *b"PK\x06\x07";
const LOCATOR64_LEN: usize = 20;
const MAX16: u64 = u16::MAX as u64;

/// The end of an archive as it was read.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    /// Between the directory's records and the end records.
    gap: Vec<u8>,
    /// How many bytes of that count as the directory's.
    counted: u64,
    /// The end record of zip64 with all that belongs to it; empty if there is
    /// none.
    end64: Vec<u8>,
    /// The end record, the comment, and what follows them.
    end: Vec<u8>,
}

impl Ending {
    /// `before` is what stands between the directory's records, which are of
    /// `records` bytes, and the end record; it begins at `offset` of the file.
    /// `end` are the end record and all behind it.
    pub(super) fn new(mut before: Vec<u8>, offset: u64, records: u64, end: Vec<u8>) -> Ending {
        let end64 = match find_end64(&before, offset) {
            Some(start) => {
                let mut end64 = before.split_off(start);
                end64.truncate(end64.len() - LOCATOR64_LEN);
                end64
            }
            None => Vec::new(),
        };
        let len = match end64.is_empty() {
            true => u64::from(u4(&end, 12)),
            false => u8(&end64, 40),
        };
        Ending {
            counted: len.saturating_sub(records).min(before.len() as u64),
            gap: before,
            end64,
            end,
        }
    }

    /// The comment, and what follows it.
    pub(super) fn behind(&self) -> &[u8] {
        &self.end[END_LEN as usize..]
    }

    /// What follows a directory with so many `entries`, in records of `records`
    /// bytes which begin at `start` of the file. `base` is what the offsets
    /// written in the file lack.
    pub(super) fn written(&self, entries: u64, start: u64, records: u64, base: u64) -> Vec<u8> {
        let mut out = self.gap.clone();
        let offset = start - base;
        let len = records + self.counted;
        let had64 = !self.end64.is_empty();
        if had64 || entries >= MAX16 || len >= MAX32 || offset >= MAX32 {
            // From the file's first byte on, as the JDK takes it.
            let place = start + records + out.len() as u64;
            let mut end64 = match had64 {
                true => self.end64.clone(),
                false => fresh_end64(),
            };
            for (at, value) in [(24, entries), (32, entries), (40, len), (48, offset)] {
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
        for (at, value) in [(12, len), (16, offset)] {
            let points_on = had64 && u4(&end, at) == u32::MAX;
            if !points_on {
                put4(&mut end, at, short(value));
            }
        }
        out.extend(end);
        out
    }
}

/// Where the end record of zip64 begins, if its locator ends `before`.
fn find_end64(before: &[u8], offset: u64) -> Option<usize> {
    let locator = before.len().checked_sub(LOCATOR64_LEN)?;
    if before[locator..locator + 4] != LOCATOR64 {
        return None;
    }
    let start = u8(before, locator + 8).checked_sub(offset)?;
    let start = usize::try_from(start).ok()?;
    let record = before.get(start..locator)?;
    (record.len() >= END64_LEN && record[..4] == END64).then_some(start)
}

fn fresh_end64() -> Vec<u8> {
    let mut record = vec![0; END64_LEN];
    record[..4].copy_from_slice(&END64);
    put8(&mut record, 4, END64_LEN as u64 - 12);
    put2(&mut record, 12, VERSION_ZIP64);
    put2(&mut record, 14, VERSION_ZIP64);
    record
}
