//! The attributes of the rewritten code.

use crate::code::frames::FrameFormat;
use crate::code::simulate::MethodBody;
use crate::code::{line_table, local_table, type_annotations};
use crate::cp_index::CpIndex;
use crate::error::ErrorKind;
use crate::method::located::{FIRST_WITH_FRAMES, TableKind};
use crate::method::planner::MethodPlanner;
use crate::outcome::Refusal;
use crate::probe::ProbeWriter;

impl MethodPlanner {
    /// Appends `attributes_count` and the relocated attributes of the code to `out`. Appends a `StackMapTable`,
    /// too, if the added handlers need one and the code has none.
    pub(super) fn write_attributes(
        &mut self,
        method: &MethodBody<'_, '_>,
        writer: &mut ProbeWriter,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let stack_map_table = TableKind::Frames(FrameFormat::StackMapTable);
        let needs_table = method.class.major_version() >= FIRST_WITH_FRAMES
            && !self.blocks.is_empty()
            && self.table(stack_map_table).is_none();
        let count = self.tables.len() + usize::from(needs_table);
        let count = u16::try_from(count).map_err(|_| ErrorKind::BadFrame("too many attributes"))?;
        out.extend_from_slice(&count.to_be_bytes());
        for i in 0..self.tables.len() {
            let table = self.tables[i];
            let info = table.info(method.class);
            write_attribute(table.name_index, out, |out| match table.kind {
                TableKind::LineNumbers => Ok(line_table::relocate(info, &self.relocation, out)?),
                TableKind::LocalVariables => {
                    Ok(local_table::relocate(info, &self.relocation, out)?)
                }
                TableKind::TypeAnnotations => {
                    let (relocation, splits) = (&self.relocation, &self.splits);
                    Ok(type_annotations::relocate(info, relocation, splits, out)?)
                }
                TableKind::Frames(format) => {
                    self.write_frames(method, Some(table), format, writer, out)
                }
                TableKind::Unknown => Ok(()),
            })?;
        }
        if needs_table {
            let name_index = match self.shared.indexes.stack_map_table {
                Some(index) => index,
                None => writer.pool.utf8(b"StackMapTable")?,
            };
            self.shared.indexes.stack_map_table = Some(name_index);
            write_attribute(name_index, out, |out| {
                self.write_frames(method, None, FrameFormat::StackMapTable, writer, out)
            })?;
        }
        Ok(())
    }
}

/// Appends an attribute. `write` appends its content.
pub(super) fn write_attribute(
    name_index: CpIndex,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    out.extend_from_slice(&name_index.to_be_bytes());
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out)?;
    let len = out.len() - length_at - 4;
    let len = u32::try_from(len).map_err(|_| ErrorKind::ClassTooLarge(len))?;
    if let Some(length) = out.get_mut(length_at..length_at + 4) {
        length.copy_from_slice(&len.to_be_bytes());
    }
    Ok(())
}
