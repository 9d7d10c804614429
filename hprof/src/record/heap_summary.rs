//! The size of the heap (`HPROF_HEAP_SUMMARY`).

use std::io::Read;

use crate::error::Result;
use crate::record_buffer::RecordBuffer;
use crate::record_input::RecordInput;

/// The number of bytes and of objects in the heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapSummary {
    /// Bytes and objects that are alive.
    pub live: (u32, u32),
    /// Bytes and objects that were allocated since the program began.
    pub allocated: (u64, u64),
}

impl HeapSummary {
    /// Number of bytes of the record.
    pub(crate) const LENGTH: u64 = 24;

    pub(crate) fn read<R: Read>(input: &mut RecordInput<'_, R>) -> Result<HeapSummary> {
        let input = &mut input.input;
        let what = "a heap summary";
        Ok(HeapSummary {
            live: (input.u4(what)?, input.u4(what)?),
            allocated: (input.u8(what)?, input.u8(what)?),
        })
    }

    pub(crate) fn write(&self, out: &mut RecordBuffer) {
        out.u4(self.live.0);
        out.u4(self.live.1);
        out.u8(self.allocated.0);
        out.u8(self.allocated.1);
    }
}
