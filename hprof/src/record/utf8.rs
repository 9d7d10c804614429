//! The name of a class, field, method or source file, or another text (`HPROF_UTF8`).

use std::io::Read;

use crate::error::Result;
use crate::record_buffer::RecordBuffer;
use crate::record_input::RecordInput;

/// Maximum number of bytes of a name that are read. Names in the JVM are not longer.
const LONGEST: u64 = 65_535;

/// Reads a name from a record of `length` bytes. Returns its identifier, its text, and the number
/// of bytes left in the record.
pub(crate) fn read<'i, R: Read>(
    input: &'i mut RecordInput<'_, R>,
    length: u64,
) -> Result<(u64, &'i [u8], u64)> {
    let what = "a name";
    let id = input.id(what)?;
    let taken = length.min(LONGEST);
    let text = input.input.take(taken as usize, what)?;
    Ok((id, text, length - taken))
}

pub(crate) fn write(id: u64, text: &[u8], out: &mut RecordBuffer) {
    out.id(id);
    out.slice(text);
}
