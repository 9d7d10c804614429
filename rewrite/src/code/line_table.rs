//! `LineNumberTable` (JVMS §4.7.12).

use crate::code::relocation::Relocation;
use crate::code::{Bci, NewBci};
use crate::error::{ErrorKind, Result};
use crate::reader::Reader;

/// Reads the table: `start_pc` and `line_number` of each entry.
///
/// # Errors
/// When the attribute is shorter or longer than its count says.
pub fn entries<'a>(mut reader: Reader<'a>) -> Result<impl Iterator<Item = (u16, u16)> + 'a> {
    let count = reader.u2()? as usize;
    let bytes = reader.take(4 * count)?;
    reader.finish()?;
    Ok(bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|&[a, b, c, d]| (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))))
}

/// Appends the relocated table to `out`. A table that began at 0 begins at
/// 0, or stack traces through the entry probe would have no line.
#[inline]
pub(crate) fn relocate(
    info: &[u8],
    relocation: &Relocation,
    out: &mut Vec<u8>,
) -> Result<(), ErrorKind> {
    let (count, entries) = info
        .split_first_chunk::<2>()
        .ok_or(ErrorKind::UnexpectedEof { needed: 2, left: 0 })?;
    let (entries, rest) = entries.as_chunks::<4>();
    if !rest.is_empty() || entries.len() != usize::from(u16::from_be_bytes(*count)) {
        return Err(ErrorKind::TrailingBytes(rest.len()));
    }
    // Copied as one, then patched: most entries of a class lie in tables.
    let start = out.len() + count.len();
    out.extend_from_slice(info);
    let entries = out.get_mut(start..).unwrap_or_default();
    let mut previous = None;
    for entry in entries.as_chunks_mut::<4>().0 {
        let [a, b, _, _] = entry;
        let bci = Bci(u16::from_be_bytes([*a, *b]));
        let NewBci(start) = match previous == Some(bci) {
            false => relocation.debug(bci)?,
            true => relocation.debug_again(bci)?,
        };
        previous = Some(bci);
        [*a, *b] = (start as u16).to_be_bytes();
    }
    Ok(())
}
