//! The bytes of one record while it is written.

use crate::types::Type;

/// The bytes of a record. Numbers in it are big-endian.
///
/// A buffer is used for one record after the other, so that writing an object allocates nothing.
pub(crate) struct RecordBuffer {
    bytes: Vec<u8>,
    id_size: usize,
}

impl RecordBuffer {
    /// Makes an empty buffer for identifiers of `id_size` bytes.
    pub(crate) fn new(id_size: u32) -> RecordBuffer {
        RecordBuffer {
            // The fixed part of an object's record is not longer than this.
            bytes: Vec::with_capacity(64),
            id_size: id_size as usize,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn u1(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(crate) fn u2(&mut self, value: u16) {
        self.bytes.extend(value.to_be_bytes());
    }

    pub(crate) fn u4(&mut self, value: u32) {
        self.bytes.extend(value.to_be_bytes());
    }

    pub(crate) fn u8(&mut self, value: u64) {
        self.bytes.extend(value.to_be_bytes());
    }

    pub(crate) fn id(&mut self, value: u64) {
        self.lower_bytes(value, self.id_size);
    }

    /// Appends a value of a type. The lower bits of `bits` are the value's bits.
    pub(crate) fn value(&mut self, value_type: Type, bits: u64) {
        self.lower_bytes(bits, value_type.size(self.id_size as u32) as usize);
    }

    pub(crate) fn slice(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn lower_bytes(&mut self, bits: u64, count: usize) {
        let bytes = bits.to_be_bytes();
        self.bytes.extend(&bytes[bytes.len() - count..]);
    }
}
