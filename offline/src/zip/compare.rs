//! Compares two archives record by record.

use std::io;

use rawzip::ReaderAt;

use super::error::ZipError;
use super::read::{Archive, Entry};
use super::record::{self, DIRECTORY_LEN, LOCAL_LEN, u2};

/// Number of bytes of each file that are in memory at a time.
const PIECE: u64 = 1 << 18;

/// Returns whether two archives have the same bytes before the first entry and after the end
/// record.
pub(crate) fn same_frame<R: ReaderAt, S: ReaderAt>(
    a: &Archive<R>,
    b: &Archive<S>,
) -> io::Result<bool> {
    let (first, other) = (first(a), first(b));
    let same_end = a.ending.behind() == b.ending.behind();
    Ok(same_end && first == other && same_bytes(&a.source, 0..first, &b.source, 0..other)?)
}

fn first<R>(archive: &Archive<R>) -> u64 {
    let starts = archive.entries.iter().map(|entry| entry.local.start);
    starts.min().unwrap_or(archive.directory_offset)
}

/// Returns whether two entries are equal byte for byte, including the bytes up to the next entry. Their positions
/// in the archives may differ, and so may the offsets that state these positions.
pub(crate) fn same_entry<R: ReaderAt, S: ReaderAt>(
    a: (&Archive<R>, &Entry),
    b: (&Archive<S>, &Entry),
) -> io::Result<bool> {
    let ((archive, entry), (other, twin)) = (a, b);
    let stated = |record: &[u8]| {
        let metadata = record::comparable_metadata(record, DIRECTORY_LEN);
        (u2(record, 8), metadata)
    };
    Ok(entry.facts == twin.facts
        && stated(archive.record(entry)) == stated(other.record(twin))
        && same_bytes(
            &archive.source,
            entry.local.clone(),
            &other.source,
            twin.local.clone(),
        )?)
}

/// Returns whether two entries differ only in their content and packing, and in the fields that
/// describe content and packing.
///
/// # Errors
/// When a local record cannot be read.
pub(crate) fn same_but_content<R: ReaderAt, S: ReaderAt>(
    a: (&Archive<R>, &Entry),
    b: (&Archive<S>, &Entry),
) -> Result<bool, ZipError> {
    let ((archive, entry), (other, twin)) = (a, b);
    let (local, new) = (archive.local_header(entry)?, other.local_header(twin)?);
    Ok(
        record::comparable_metadata(archive.record(entry), DIRECTORY_LEN)
            == record::comparable_metadata(other.record(twin), DIRECTORY_LEN)
            && record::comparable_metadata(&local, LOCAL_LEN)
                == record::comparable_metadata(&new, LOCAL_LEN),
    )
}

fn same_bytes<R: ReaderAt, S: ReaderAt>(
    a: &R,
    place: std::ops::Range<u64>,
    b: &S,
    other: std::ops::Range<u64>,
) -> io::Result<bool> {
    let len = place.end - place.start;
    if len != other.end - other.start {
        return Ok(false);
    }
    let mut buffers = [(); 2].map(|()| vec![0; len.min(PIECE) as usize]);
    let mut at = 0;
    while at < len {
        let piece = (len - at).min(PIECE) as usize;
        let [first, second] = &mut buffers;
        a.read_exact_at(&mut first[..piece], place.start + at)?;
        b.read_exact_at(&mut second[..piece], other.start + at)?;
        if first[..piece] != second[..piece] {
            return Ok(false);
        }
        at += piece as u64;
    }
    Ok(true)
}
