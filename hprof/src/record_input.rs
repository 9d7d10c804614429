//! Input that also knows the size of identifiers and the rest of the heap segment.

use std::io::Read;

use crate::error::{ErrorKind, Result};
use crate::input::{Input, number};
use crate::types::Type;

/// The bytes of a dump after its header.
///
/// Methods with `heap` in their names read a part of a heap record. They first check that the segment has room
/// for that part.
pub(crate) struct RecordInput<'i, R> {
    pub(crate) input: &'i mut Input<R>,
    pub(crate) id_size: usize,
    /// Number of bytes that are left of the heap segment.
    pub(crate) segment_left: u64,
}

impl<R: Read> RecordInput<'_, R> {
    pub(crate) fn id(&mut self, what: &'static str) -> Result<u64> {
        self.input.take(self.id_size, what).map(number)
    }

    /// Subtracts `bytes` from the rest of the segment; fails if the rest is shorter.
    #[inline]
    pub(crate) fn reserve(&mut self, bytes: u64, what: &'static str) -> Result<()> {
        match self.segment_left.checked_sub(bytes) {
            Some(left) => self.segment_left = left,
            None => return self.input.error(ErrorKind::PassesSegment(what)),
        }
        Ok(())
    }

    pub(crate) fn heap_u2(&mut self, what: &'static str) -> Result<u16> {
        self.reserve(2, what)?;
        self.input.u2(what)
    }

    pub(crate) fn heap_type(&mut self, what: &'static str) -> Result<Type> {
        self.reserve(1, what)?;
        let code = self.input.u1(what)?;
        match Type::from_code(code) {
            Some(value_type) => Ok(value_type),
            None => self.input.error(ErrorKind::UnknownType(code)),
        }
    }

    pub(crate) fn heap_value(&mut self, value_type: Type, what: &'static str) -> Result<u64> {
        let size = value_type.size(self.id_size as u32) as usize;
        self.reserve(size as u64, what)?;
        self.input.take(size, what).map(number)
    }
}
