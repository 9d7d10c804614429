//! `LocalVariableTable` and `LocalVariableTypeTable` (JVMS §4.7.13, §4.7.14),
//! which have the same layout.

use crate::code::bci::Bci;
use crate::code::debug_table;
use crate::code::relocation::Relocation;
use crate::cp_index::CpIndex;
use crate::error::{ErrorKind, Result};
use crate::reader::Reader;

/// Length in bytes of an entry.
const ENTRY: usize = 10;

/// One entry of a `LocalVariableTable` or a `LocalVariableTypeTable`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalVariable {
    /// The first instruction at which the variable has a value.
    pub start_pc: Bci,
    /// Length in bytes of the code in which the variable has a value.
    pub length: u16,
    /// Index of the variable's name, a `CONSTANT_Utf8`.
    pub name_index: CpIndex,
    /// Index of the variable's descriptor, or in a `LocalVariableTypeTable` of its signature. Both are a
    /// `CONSTANT_Utf8`.
    pub descriptor_index: CpIndex,
    /// The variable's slot in the frame's array of local variables.
    pub index: u16,
}

/// Reads the table, in file order.
///
/// # Errors
/// When the length of the attribute does not match its count.
pub fn entries<'a>(reader: Reader<'a>) -> Result<impl Iterator<Item = LocalVariable> + 'a> {
    let entries = debug_table::entries::<ENTRY>(reader)?.iter();
    Ok(
        entries.map(|&[a, b, c, d, e, f, g, h, i, j]| LocalVariable {
            start_pc: Bci(u16::from_be_bytes([a, b])),
            length: u16::from_be_bytes([c, d]),
            name_index: CpIndex::from_be_bytes([e, f]),
            descriptor_index: CpIndex::from_be_bytes([g, h]),
            index: u16::from_be_bytes([i, j]),
        }),
    )
}

/// Returns the new `start_pc` and `length` of a range of `length` bytes from `start_pc`, for a debugger's table.
#[inline]
pub(crate) fn relocate_range(
    relocation: &Relocation,
    start_pc: Bci,
    length: u16,
) -> Result<[[u8; 2]; 2], ErrorKind> {
    let end_pc = start_pc.jump(i32::from(length))?;
    let start = relocation.debug_distinct(start_pc)?;
    let end = relocation.debug_distinct(end_pc)?;
    let new_length = end.offset().saturating_sub(start.offset());
    Ok([start.to_be_bytes(), (new_length as u16).to_be_bytes()])
}

/// Appends the relocated table to `out`.
#[inline]
pub(crate) fn relocate(
    info: &[u8],
    relocation: &Relocation,
    out: &mut Vec<u8>,
) -> Result<(), ErrorKind> {
    debug_table::copy_and_patch::<ENTRY>(info, out, |[a, b, c, d, ..]| {
        let start_pc = Bci(u16::from_be_bytes([*a, *b]));
        let length = u16::from_be_bytes([*c, *d]);
        [[*a, *b], [*c, *d]] = relocate_range(relocation, start_pc, length)?;
        Ok(())
    })
}
