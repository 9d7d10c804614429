//! The stack of a thread (`HPROF_TRACE`).

use std::io::Read;

use crate::error::Result;
use crate::record_buffer::RecordBuffer;
use crate::record_input::RecordInput;

/// The fixed part of a stack trace. The identifiers of its frames follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackTraceHead {
    pub(crate) serial: u32,
    /// Serial number of the thread; 0 if the trace belongs to no thread.
    pub(crate) thread: u32,
    /// Number of frames.
    pub(crate) frames: u32,
}

impl StackTraceHead {
    /// Number of bytes of the fixed part.
    pub(crate) const LENGTH: u64 = 12;

    pub(crate) fn read<R: Read>(input: &mut RecordInput<'_, R>) -> Result<StackTraceHead> {
        let what = "a stack";
        Ok(StackTraceHead {
            serial: input.input.u4(what)?,
            thread: input.input.u4(what)?,
            frames: input.input.u4(what)?,
        })
    }

    pub(crate) fn write(&self, out: &mut RecordBuffer) {
        out.u4(self.serial);
        out.u4(self.thread);
        out.u4(self.frames);
    }
}
