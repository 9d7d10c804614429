//! Finds an archive's directory. A comment may contain bytes that look like another directory. The
//! search follows the JVM's rules, so that the classes that the JVM will run are found.

use std::io;
use std::ops::Range;

use rawzip::ReaderAt;

use super::ending::{END_LEN, END64, END64_LEN, LOCATOR64, LOCATOR64_LEN};
use super::error::ZipError;
use super::record::{DIRECTORY, LOCAL, MAX32, u2, u4, u8};

const END: [u8; 4] = *b"PK\x05\x06";
/// Maximum length of the comment after an end record: its length has 16 bits.
const MOST_BEHIND: u64 = u16::MAX as u64;

/// Positions of an archive's directory and end records.
#[derive(Debug)]
pub(super) struct Located {
    /// The directory.
    pub(super) directory: Range<u64>,
    /// The zip64 end record up to the end of its locator; empty if there is none.
    pub(super) end64: Range<u64>,
    /// The end record, and the bytes after it.
    pub(super) end: Vec<u8>,
    /// Position in the file from which the archive's offsets count.
    pub(super) base: u64,
}

/// Finds the end record and the directory in a file of `len` bytes.
///
/// If there are several end records, the last of these counts: one whose comment ends exactly at the end of the file,
/// or one that leads to a directory and to the first entry, whatever bytes follow it. The number of entries in the end
/// record is not used.
///
/// The directory ends where the end record, or the zip64 end record, begins. The
/// offset in the end record does not matter: if a script was put before an
/// archive, all offsets are too small by the script's length.
pub(super) fn locate<R: ReaderAt>(source: &R, len: u64) -> Result<Located, ZipError> {
    let start = len.saturating_sub(END_LEN + MOST_BEHIND);
    let mut tail = vec![0; (len - start) as usize];
    source.read_exact_at(&mut tail, start)?;
    let places = 0..(tail.len() + 1).saturating_sub(END_LEN as usize);
    for at in places.rev().filter(|at| tail[*at..].starts_with(&END)) {
        let (end, place) = (&tail[at..], start + at as u64);
        let comment_end = END_LEN as usize + usize::from(u2(end, 20));
        if end.len() != comment_end && !leads_to_entries(source, place, end)? {
            continue;
        }
        if end.len() < comment_end {
            return Err(no_archive("its comment is cut off"));
        }
        return located(source, len, place, end);
    }
    Err(no_archive("it has no end record"))
}

fn leads_to_entries<R: ReaderAt>(source: &R, place: u64, end: &[u8]) -> io::Result<bool> {
    let (len, offset) = (u64::from(u4(end, 12)), u64::from(u4(end, 16)));
    let Some(directory) = place.checked_sub(len) else {
        return Ok(false);
    };
    let Some(first) = directory.checked_sub(offset) else {
        return Ok(false);
    };
    Ok(bytes::<4>(source, directory)? == DIRECTORY && bytes::<4>(source, first)? == LOCAL)
}

fn located<R: ReaderAt>(
    source: &R,
    file_len: u64,
    place: u64,
    end: &[u8],
) -> Result<Located, ZipError> {
    let (mut len, mut offset) = (u64::from(u4(end, 12)), u64::from(u4(end, 16)));
    let mut end64 = place..place;
    if let Some((found, record)) = find_end64(source, file_len, place, end)? {
        if found.end.saturating_sub(found.start) < END64_LEN as u64 {
            return Err(no_archive("its zip64 end record is in a wrong position"));
        }
        (len, offset) = (u8(&record, 40), u8(&record, 48));
        end64 = found;
    }
    let start = end64.start.checked_sub(len);
    let base = start.and_then(|start| start.checked_sub(offset));
    let (Some(start), Some(base)) = (start, base) else {
        return Err(no_archive("its directory is not before its end record"));
    };
    Ok(Located {
        directory: start..end64.start,
        end64,
        end: end.to_vec(),
        base,
    })
}

/// Finds the zip64 end record, and its range up to the end of its locator, which lies directly
/// before the end record. A record that contradicts the end record is ignored.
fn find_end64<R: ReaderAt>(
    source: &R,
    file_len: u64,
    place: u64,
    end: &[u8],
) -> io::Result<Option<(Range<u64>, [u8; END64_LEN])>> {
    let Some(locator_at) = place.checked_sub(LOCATOR64_LEN as u64) else {
        return Ok(None);
    };
    let locator = bytes::<LOCATOR64_LEN>(source, locator_at)?;
    let at = u8(&locator, 8);
    let fits = at <= file_len.saturating_sub(END64_LEN as u64);
    if locator[..4] != LOCATOR64 || !fits {
        return Ok(None);
    }
    let record = bytes::<END64_LEN>(source, at)?;
    let agrees = |short: u64, most: u64, long: usize| short == most || short == u8(&record, long);
    let is_record = record[..4] == END64
        && agrees(u2(end, 10).into(), u16::MAX.into(), 32)
        && agrees(u4(end, 12).into(), MAX32, 40)
        && agrees(u4(end, 16).into(), MAX32, 48);
    Ok(is_record.then_some((at..locator_at, record)))
}

fn bytes<const N: usize>(source: &impl ReaderAt, at: u64) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    source.read_exact_at(&mut bytes, at)?;
    Ok(bytes)
}

fn no_archive(what: &str) -> ZipError {
    ZipError::NoArchive(what.to_owned())
}
