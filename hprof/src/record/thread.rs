//! The beginning of a thread (`HPROF_START_THREAD`).

use std::io::Read;

use crate::error::Result;
use crate::record_buffer::RecordBuffer;
use crate::record_input::RecordInput;

/// The beginning of a thread. Names are identifiers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartThread {
    /// Serial number of the thread.
    pub serial: u32,
    /// Identifier of the thread's object.
    pub object: u64,
    /// Serial number of the trace that started it.
    pub trace: u32,
    /// Name of the thread.
    pub name: u64,
    /// Name of its group.
    pub group: u64,
    /// Name of the group's parent.
    pub parent_group: u64,
}

impl StartThread {
    /// Bytes of the record.
    pub(crate) fn length(id_size: u64) -> u64 {
        8 + 4 * id_size
    }

    pub(crate) fn read<R: Read>(input: &mut RecordInput<'_, R>) -> Result<StartThread> {
        let what = "a thread";
        Ok(StartThread {
            serial: input.input.u4(what)?,
            object: input.id(what)?,
            trace: input.input.u4(what)?,
            name: input.id(what)?,
            group: input.id(what)?,
            parent_group: input.id(what)?,
        })
    }

    pub(crate) fn write(&self, out: &mut RecordBuffer) {
        out.u4(self.serial);
        out.id(self.object);
        out.u4(self.trace);
        out.id(self.name);
        out.id(self.group);
        out.id(self.parent_group);
    }
}
