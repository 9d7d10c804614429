//! The settings of the agent that wrote the file (`HPROF_CONTROL_SETTINGS`). The JVM's own dumper writes no such
//! record.

use std::io::Read;

use crate::error::Result;
use crate::record_buffer::RecordBuffer;
use crate::record_input::RecordInput;

/// The settings of the agent that wrote the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlSettings {
    /// Bits: 1 if traces of allocations are recorded, 2 if samples are taken.
    pub flags: u32,
    /// Maximum number of frames of a trace.
    pub depth: u16,
}

impl ControlSettings {
    /// Number of bytes of the record.
    pub(crate) const LENGTH: u64 = 6;

    pub(crate) fn read<R: Read>(input: &mut RecordInput<'_, R>) -> Result<ControlSettings> {
        let what = "control settings";
        Ok(ControlSettings {
            flags: input.input.u4(what)?,
            depth: input.input.u2(what)?,
        })
    }

    pub(crate) fn write(&self, out: &mut RecordBuffer) {
        out.u4(self.flags);
        out.u2(self.depth);
    }
}
