//! `LocalVariableTable` and `LocalVariableTypeTable` (JVMS §4.7.13, §4.7.14),
//! which are laid out alike.

use crate::code::relocation::Relocation;
use crate::code::{Bci, NewBci};
use crate::error::{ErrorKind, Result};
use crate::reader::Reader;

/// One entry of either table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalVariable {
    /// Where the variable begins to have a value.
    pub start_pc: u16,
    /// For how many bytes of code.
    pub length: u16,
    /// The constant-pool index of its name.
    pub name_index: u16,
    /// That of its descriptor, or of its signature in a
    /// `LocalVariableTypeTable`.
    pub descriptor_index: u16,
    /// Its local variable.
    pub index: u16,
}

/// Reads the table.
///
/// # Errors
/// When the attribute is shorter or longer than its count says.
pub fn entries<'a>(mut reader: Reader<'a>) -> Result<impl Iterator<Item = LocalVariable> + 'a> {
    let count = reader.u2()? as usize;
    let bytes = reader.take(10 * count)?;
    reader.finish()?;
    Ok(bytes
        .as_chunks::<10>()
        .0
        .iter()
        .map(|&[a, b, c, d, e, f, g, h, i, j]| LocalVariable {
            start_pc: u16::from_be_bytes([a, b]),
            length: u16::from_be_bytes([c, d]),
            name_index: u16::from_be_bytes([e, f]),
            descriptor_index: u16::from_be_bytes([g, h]),
            index: u16::from_be_bytes([i, j]),
        }))
}

/// Where the range of `length` bytes from `start_pc` lies now, as the two
/// values of a debugger's table.
#[inline]
pub(crate) fn relocate_range(
    relocation: &Relocation,
    start_pc: u16,
    length: u16,
) -> Result<[[u8; 2]; 2], ErrorKind> {
    let end_pc = start_pc
        .checked_add(length)
        .ok_or(ErrorKind::BadBytecodeOffset(
            i64::from(start_pc) + i64::from(length),
        ))?;
    let NewBci(start) = relocation.debug_distinct(Bci(start_pc))?;
    let NewBci(end) = relocation.debug_distinct(Bci(end_pc))?;
    let length = end.saturating_sub(start);
    Ok([(start as u16).to_be_bytes(), (length as u16).to_be_bytes()])
}

/// Appends the relocated table to `out`.
#[inline]
pub(crate) fn relocate(
    info: &[u8],
    relocation: &Relocation,
    out: &mut Vec<u8>,
) -> Result<(), ErrorKind> {
    let (count, entries) = info
        .split_first_chunk::<2>()
        .ok_or(ErrorKind::UnexpectedEof { needed: 2, left: 0 })?;
    let (entries, rest) = entries.as_chunks::<10>();
    if !rest.is_empty() || entries.len() != usize::from(u16::from_be_bytes(*count)) {
        return Err(ErrorKind::TrailingBytes(rest.len()));
    }
    // Copied as one, then patched.
    let start = out.len() + count.len();
    out.extend_from_slice(info);
    let entries = out.get_mut(start..).unwrap_or_default();
    for entry in entries.as_chunks_mut::<10>().0 {
        let [a, b, c, d, ..] = entry;
        let start_pc = u16::from_be_bytes([*a, *b]);
        let length = u16::from_be_bytes([*c, *d]);
        [[*a, *b], [*c, *d]] = relocate_range(relocation, start_pc, length)?;
    }
    Ok(())
}
