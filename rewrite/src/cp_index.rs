//! Indexes into the constant pool.

use std::fmt;

/// Index of a constant in the constant pool (JVMS §4.4), as class files
/// store it: from 1 up to one below `constant_pool_count`.
///
/// 0 stands for no constant, for example in `super_class` of `java/lang/Object` and in `catch_type`
/// of a catch-any handler. An index that was read from a class file is not checked until its
/// constant is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct CpIndex(pub u16);

impl CpIndex {
    /// The index 0, which stands for no constant.
    pub const NONE: CpIndex = CpIndex(0);

    /// Returns whether the index is 0.
    #[inline]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Returns the index as the two bytes that a class file contains.
    #[inline]
    pub const fn to_be_bytes(self) -> [u8; 2] {
        self.0.to_be_bytes()
    }

    /// Returns the index that these two bytes of a class file contain.
    #[inline]
    pub const fn from_be_bytes(bytes: [u8; 2]) -> Self {
        CpIndex(u16::from_be_bytes(bytes))
    }
}

impl From<CpIndex> for usize {
    #[inline]
    fn from(index: CpIndex) -> usize {
        usize::from(index.0)
    }
}

/// Prints the plain number. Callers write `#{index}`.
impl fmt::Display for CpIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
