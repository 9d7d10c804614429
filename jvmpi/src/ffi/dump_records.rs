//! The bytes of dumps. Numbers are in network order, ids in the machine's byte order.

/// A buffer of records.
#[derive(Default)]
pub(super) struct Bytes(Vec<u8>);

impl Bytes {
    pub(super) fn u1(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(super) fn u2(&mut self, value: u16) {
        self.0.extend(value.to_be_bytes());
    }

    pub(super) fn u4(&mut self, value: u32) {
        self.0.extend(value.to_be_bytes());
    }

    /// Writes an id or another pointer.
    pub(super) fn pointer(&mut self, value: usize) {
        self.0.extend(value.to_ne_bytes());
    }

    /// Writes the number of pointers, then the pointers.
    pub(super) fn pointers(&mut self, values: &[usize]) {
        self.u4(values.len() as u32);
        values.iter().for_each(|value| self.pointer(*value));
    }

    /// Writes a value of a primitive type, whose bits are in `bits`.
    pub(super) fn value(&mut self, of: u8, bits: u64) {
        match loadhook_jvm::heap_walk::size_of(of) {
            1 => self.u1(bits as u8),
            2 => self.u2(bits as u16),
            4 => self.u4(bits as u32),
            _ => self.0.extend(bits.to_be_bytes()),
        }
    }

    /// Writes the elements of an array of a primitive type. `elements` is in the machine's byte order.
    pub(super) fn elements(&mut self, of: u8, elements: &[u8]) {
        let size = loadhook_jvm::heap_walk::size_of(of);
        for element in elements.chunks_exact(size) {
            if cfg!(target_endian = "little") {
                self.0.extend(element.iter().rev());
            } else {
                self.0.extend(element);
            }
        }
    }

    pub(super) fn append(&mut self, other: &Bytes) {
        self.0.extend(&other.0);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns pointers to the beginning and the end of the bytes.
    pub(super) fn range(&self) -> (*const u8, *const u8) {
        let range = self.0.as_ptr_range();
        (range.start, range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_network_order_and_ids_in_the_machines() {
        let mut bytes = Bytes::default();
        bytes.u1(1);
        bytes.u4(0x0203_0405);
        bytes.pointer(0x10);
        bytes.value(b'S', 0xffff_fffe);
        bytes.elements(b'I', &7u32.to_ne_bytes());
        let mut expected = vec![1, 2, 3, 4, 5];
        expected.extend(0x10_usize.to_ne_bytes());
        expected.extend([0xff, 0xfe, 0, 0, 0, 7]);
        assert_eq!(bytes.0, expected);
    }
}
