//! The beginning of a thread (`HPROF_START_THREAD`).

use std::io::Read;

use crate::error::Result;
use crate::record_buffer::RecordBuffer;
use crate::record_input::RecordInput;

/// The beginning of a thread. A name is given by its identifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartThread {
    /// Serial number of the thread.
    pub serial: u32,
    /// Identifier of the thread object.
    pub object: u64,
    /// Serial number of the stack trace at which the thread was started.
    pub trace: u32,
    /// Identifier of the thread's name.
    pub name: u64,
    /// Identifier of the name of the thread's group.
    pub group: u64,
    /// Identifier of the name of the group's parent.
    pub parent_group: u64,
}

impl StartThread {
    /// Returns the number of bytes of the record.
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
