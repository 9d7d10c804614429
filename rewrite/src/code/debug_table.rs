//! The common layout of the tables for debuggers: a count, then entries of one length. Each entry begins with an
//! offset.

use crate::error::{ErrorKind, Result};
use crate::reader::Reader;

/// Reads a table whose entries have `N` bytes each.
///
/// # Errors
/// When the length of the attribute does not match its count.
pub(crate) fn entries<'a, const N: usize>(mut reader: Reader<'a>) -> Result<&'a [[u8; N]]> {
    let count = usize::from(reader.u2()?);
    let bytes = reader.take(N * count)?;
    reader.finish()?;
    Ok(bytes.as_chunks::<N>().0)
}

/// Appends the table `info` to `out` and patches each entry with `relocate`.
///
/// The table is first copied as a whole, which is faster than entry by entry. Most of a class's bytecode offsets
/// are in such tables.
#[inline]
pub(crate) fn copy_and_patch<const N: usize>(
    info: &[u8],
    out: &mut Vec<u8>,
    mut relocate: impl FnMut(&mut [u8; N]) -> Result<(), ErrorKind>,
) -> Result<(), ErrorKind> {
    let (count, entries) = info
        .split_first_chunk::<2>()
        .ok_or(ErrorKind::UnexpectedEof { needed: 2, left: 0 })?;
    let (entries, rest) = entries.as_chunks::<N>();
    if !rest.is_empty() || entries.len() != usize::from(u16::from_be_bytes(*count)) {
        return Err(ErrorKind::TrailingBytes(rest.len()));
    }
    let start = out.len() + count.len();
    out.extend_from_slice(info);
    let copied = out.get_mut(start..).unwrap_or_default();
    for entry in copied.as_chunks_mut::<N>().0 {
        relocate(entry)?;
    }
    Ok(())
}
