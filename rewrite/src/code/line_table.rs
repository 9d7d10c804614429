//! `LineNumberTable` (JVMS §4.7.12).

use crate::code::bci::Bci;
use crate::code::debug_table;
use crate::code::relocation::Relocation;
use crate::error::{ErrorKind, Result};
use crate::reader::Reader;

const ENTRY: usize = 4;

/// Reads the table. Returns `start_pc` and `line_number` of each entry, in file order.
///
/// # Errors
/// When the length of the attribute does not match its count.
pub fn entries<'a>(reader: Reader<'a>) -> Result<impl Iterator<Item = (Bci, u16)> + 'a> {
    let entries = debug_table::entries::<ENTRY>(reader)?.iter();
    Ok(entries.map(|&[a, b, c, d]| {
        let start_pc = Bci(u16::from_be_bytes([a, b]));
        (start_pc, u16::from_be_bytes([c, d]))
    }))
}

/// Appends the relocated table to `out`. The first entry at offset 0 stays at 0. Otherwise a stack trace through the
/// entry probe would have no line.
#[inline]
pub(crate) fn relocate(
    info: &[u8],
    relocation: &Relocation,
    out: &mut Vec<u8>,
) -> Result<(), ErrorKind> {
    let mut previous = None;
    debug_table::copy_and_patch::<ENTRY>(info, out, |[a, b, _, _]| {
        let bci = Bci(u16::from_be_bytes([*a, *b]));
        let start = if previous == Some(bci) {
            relocation.debug_again(bci)?
        } else {
            relocation.debug(bci)?
        };
        previous = Some(bci);
        [*a, *b] = start.to_be_bytes();
        Ok(())
    })
}
