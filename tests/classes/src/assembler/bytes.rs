//! Writes big-endian integers, the form of integers in class files (JVMS §4).

/// Appends class-file integers to a byte vector.
pub(crate) trait Put {
    /// Appends a `u1`.
    fn u1(&mut self, value: u8);
    /// Appends a `u2`.
    fn u2(&mut self, value: u16);
    /// Appends a `u4`.
    fn u4(&mut self, value: u32);
}

impl Put for Vec<u8> {
    fn u1(&mut self, value: u8) {
        self.push(value);
    }

    fn u2(&mut self, value: u16) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn u4(&mut self, value: u32) {
        self.extend_from_slice(&value.to_be_bytes());
    }
}
