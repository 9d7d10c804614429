//! An array of a primitive type (the heap record `HPROF_GC_PRIM_ARRAY_DUMP`).

use std::io::Read;

use crate::error::{Error, ErrorKind, Result};
use crate::input::number;
use crate::record_buffer::RecordBuffer;
use crate::record_input::RecordInput;
use crate::tag::heap::PRIMITIVE_ARRAY_DUMP;
use crate::types::Type;

/// The fixed part of an array's record. The array's elements follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PrimitiveArrayHead {
    pub(crate) id: u64,
    pub(crate) element: Type,
    /// Number of elements.
    pub(crate) length: u32,
}

impl PrimitiveArrayHead {
    /// Reads the fixed part of the record whose tag was at byte `at`, and subtracts the whole
    /// record from the rest of the segment.
    #[inline]
    pub(crate) fn read<R: Read>(
        input: &mut RecordInput<'_, R>,
        at: u64,
    ) -> Result<PrimitiveArrayHead> {
        let what = "an array";
        let head_size = input.id_size + 9;
        input.reserve(head_size as u64, what)?;
        let id_size = input.id_size;
        let bytes = input.input.take(head_size, what)?;
        let (id, rest) = bytes.split_at(id_size);
        let (_stack_trace, rest) = rest.split_at(4);
        let (length, code) = rest.split_at(4);
        let code = number(code) as u8;
        let element = Type::from_code(code).filter(|element| *element != Type::Object);
        let Some(element) = element else {
            let kind = ErrorKind::UnknownType(code);
            return Err(Error { kind, at });
        };
        let head = PrimitiveArrayHead {
            id: number(id),
            element,
            length: number(length) as u32,
        };
        input.reserve(head.content_bytes(), what)?;
        Ok(head)
    }

    /// Returns the number of bytes of the elements.
    #[inline]
    pub(crate) fn content_bytes(&self) -> u64 {
        u64::from(self.length) * u64::from(self.element.size(0))
    }

    #[inline]
    pub(crate) fn write(&self, stack_trace: u32, out: &mut RecordBuffer) {
        out.u1(PRIMITIVE_ARRAY_DUMP);
        out.id(self.id);
        out.u4(stack_trace);
        out.u4(self.length);
        out.u1(self.element.code());
    }
}
