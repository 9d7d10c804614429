//! An object that is not an array (the heap record `HPROF_GC_INSTANCE_DUMP`).

use std::io::Read;

use crate::error::Result;
use crate::input::number;
use crate::record_buffer::RecordBuffer;
use crate::record_input::RecordInput;
use crate::tag::heap::INSTANCE_DUMP;

/// The fixed part of an object's record. The values of the object's fields follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InstanceHead {
    pub(crate) id: u64,
    pub(crate) class: u64,
    /// Number of bytes of the field values.
    pub(crate) length: u32,
}

impl InstanceHead {
    /// Reads the fixed part, and subtracts the whole record from the rest of the segment.
    #[inline]
    pub(crate) fn read<R: Read>(input: &mut RecordInput<'_, R>) -> Result<InstanceHead> {
        let what = "an object";
        let id_size = input.id_size;
        let head_size = 2 * id_size + 8;
        input.reserve(head_size as u64, what)?;
        let bytes = input.input.take(head_size, what)?;
        let (id, rest) = bytes.split_at(id_size);
        let (_stack_trace, rest) = rest.split_at(4);
        let (class, length) = rest.split_at(id_size);
        let head = InstanceHead {
            id: number(id),
            class: number(class),
            length: number(length) as u32,
        };
        input.reserve(head.length.into(), what)?;
        Ok(head)
    }

    #[inline]
    pub(crate) fn write(&self, stack_trace: u32, out: &mut RecordBuffer) {
        out.u1(INSTANCE_DUMP);
        out.id(self.id);
        out.u4(stack_trace);
        out.id(self.class);
        out.u4(self.length);
    }
}
