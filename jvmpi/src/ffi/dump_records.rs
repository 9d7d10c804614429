//! The bytes of dumps. Numbers are in network order, ids in the machine's byte order.

/// A buffer of records.
#[derive(Default)]
pub(super) struct Bytes {
    bytes: Vec<u8>,
    /// Number of bytes before the first record.
    room: usize,
}

impl Bytes {
    /// Makes an empty buffer with room for [`Bytes::put_in_front`].
    pub(super) fn with_room(room: usize) -> Self {
        Bytes {
            bytes: vec![0; room],
            room,
        }
    }

    /// Puts records before all others. If there is room for them, the others stay where they are.
    pub(super) fn put_in_front(&mut self, other: &Bytes) {
        let start = self.room.saturating_sub(other.len());
        let records = other.records().iter().copied();
        self.bytes.splice(start..self.room, records);
        self.room = start;
    }

    fn records(&self) -> &[u8] {
        &self.bytes[self.room..]
    }

    pub(super) fn u1(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(super) fn u2(&mut self, value: u16) {
        self.bytes.extend(value.to_be_bytes());
    }

    pub(super) fn u4(&mut self, value: u32) {
        self.bytes.extend(value.to_be_bytes());
    }

    /// Writes an id or another pointer.
    pub(super) fn pointer(&mut self, value: usize) {
        self.bytes.extend(value.to_ne_bytes());
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
            _ => self.bytes.extend(bits.to_be_bytes()),
        }
    }

    /// Writes the elements of an array of a primitive type. `elements` is in the machine's byte order.
    pub(super) fn elements(&mut self, of: u8, elements: &[u8]) {
        let size = loadhook_jvm::heap_walk::size_of(of);
        for element in elements.chunks_exact(size) {
            if cfg!(target_endian = "little") {
                self.bytes.extend(element.iter().rev());
            } else {
                self.bytes.extend(element);
            }
        }
    }

    pub(super) fn append(&mut self, other: &Bytes) {
        self.bytes.extend(other.records());
    }

    pub(super) fn len(&self) -> usize {
        self.records().len()
    }

    /// Returns pointers to the beginning and the end of the bytes.
    pub(super) fn range(&self) -> (*const u8, *const u8) {
        let range = self.records().as_ptr_range();
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
        assert_eq!(bytes.records(), expected);
    }

    #[test]
    fn records_can_be_put_in_front() {
        let mut front = Bytes::default();
        front.u2(0x0102);
        for room in [0, 1, 2, 5] {
            let mut bytes = Bytes::with_room(room);
            bytes.u1(3);
            bytes.put_in_front(&front);
            bytes.u1(4);
            assert_eq!((bytes.records(), bytes.len()), (&[1, 2, 3, 4][..], 4));
        }
    }
}
