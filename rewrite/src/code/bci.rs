//! Offsets in the code that was read.

use std::fmt;

use crate::error::ErrorKind;

/// Offset in bytes of an instruction in the original code, from the first instruction of its method. The end of
/// the code, `code_length`, is an offset too, because ranges end there.
///
/// Offsets in rewritten code have another type, which is private to this crate. Only the relocation map converts
/// a `Bci` into such an offset. So code that writes an offset without relocating it does not compile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Bci(pub u16);

impl Bci {
    /// The method's first instruction.
    pub const START: Bci = Bci(0);

    /// Returns the offset of the byte at `index` of the code, which is at most 65,535 bytes long (JVMS §4.7.3).
    #[inline]
    pub(crate) fn from_index(index: usize) -> Self {
        debug_assert!(
            u16::try_from(index).is_ok(),
            "offset {index} is beyond the longest code"
        );
        Bci(index as u16)
    }

    /// Returns the index into the code's bytes.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Returns the target of a jump by `offset` bytes from the instruction at this offset.
    ///
    /// # Errors
    /// When the target exceeds the maximum length of code.
    #[inline]
    pub(crate) fn jump(self, offset: i32) -> Result<Bci, ErrorKind> {
        Self::try_from_target(i64::from(self.0) + i64::from(offset))
    }

    /// Converts a jump instruction's target, which is computed in 64 bits.
    ///
    /// # Errors
    /// When the target exceeds the maximum length of code.
    #[inline]
    pub fn try_from_target(target: i64) -> Result<Bci, ErrorKind> {
        match u16::try_from(target) {
            Ok(bci) => Ok(Bci(bci)),
            Err(_) => Err(ErrorKind::BadBytecodeOffset(target)),
        }
    }
}

impl From<Bci> for u32 {
    #[inline]
    fn from(bci: Bci) -> u32 {
        u32::from(bci.0)
    }
}

impl From<Bci> for i64 {
    #[inline]
    fn from(bci: Bci) -> i64 {
        i64::from(bci.0)
    }
}

impl From<Bci> for usize {
    #[inline]
    fn from(bci: Bci) -> usize {
        bci.index()
    }
}

impl fmt::Display for Bci {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
