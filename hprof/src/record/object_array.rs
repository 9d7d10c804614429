//! An array of references (the heap record `HPROF_GC_OBJ_ARRAY_DUMP`).

use std::io::Read;

use crate::error::Result;
use crate::input::number;
use crate::record_buffer::RecordBuffer;
use crate::record_input::RecordInput;
use crate::tag::heap::OBJECT_ARRAY_DUMP;

/// The fixed part of an array's record. The identifiers of the array's elements follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ObjectArrayHead {
    pub(crate) id: u64,
    /// The class of the array, not of its elements.
    pub(crate) class: u64,
    /// Number of elements.
    pub(crate) length: u32,
}

impl ObjectArrayHead {
    /// Reads the fixed part, and subtracts the whole record from the rest of the segment.
    #[inline]
    pub(crate) fn read<R: Read>(input: &mut RecordInput<'_, R>) -> Result<ObjectArrayHead> {
        let what = "an array";
        let id_size = input.id_size;
        let head_size = 2 * id_size + 8;
        input.reserve(head_size as u64, what)?;
        let bytes = input.input.take(head_size, what)?;
        let (id, rest) = bytes.split_at(id_size);
        let (_stack_trace, rest) = rest.split_at(4);
        let (length, class) = rest.split_at(4);
        let head = ObjectArrayHead {
            id: number(id),
            class: number(class),
            length: number(length) as u32,
        };
        input.reserve(head.content_bytes(id_size as u32), what)?;
        Ok(head)
    }

    /// Returns the number of bytes of the elements.
    #[inline]
    pub(crate) fn content_bytes(&self, id_size: u32) -> u64 {
        u64::from(self.length) * u64::from(id_size)
    }

    #[inline]
    pub(crate) fn write(&self, stack_trace: u32, out: &mut RecordBuffer) {
        out.u1(OBJECT_ARRAY_DUMP);
        out.id(self.id);
        out.u4(stack_trace);
        out.u4(self.length);
        out.id(self.class);
    }
}
