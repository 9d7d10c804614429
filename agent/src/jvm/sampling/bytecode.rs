//! Converts an address in the bytecode of a method to an offset in the method's code.

use super::memory::SafeMemory;
use super::raw_frame::BCP_BITS;

/// Offsets of fields that lead to a method's bytecode, and the size of a structure. All are in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct BytecodeOffsets {
    /// `Method::_constMethod`.
    pub(super) const_method: usize,
    /// The size of a `ConstMethod`. The bytecode follows it.
    pub(super) const_method_size: usize,
    /// `ConstMethod::_code_size`: the length of the bytecode.
    pub(super) code_size: usize,
}

impl BytecodeOffsets {
    /// Returns the offset of an instruction in a method's code. `method` is the address of HotSpot's `Method`, and
    /// `bcp` has the low [`BCP_BITS`] bits of the instruction's address.
    ///
    /// Returns `None` if the instruction is not in the method's code. For example, a frame that began before its class
    /// was redefined runs the old code, which is elsewhere in memory.
    pub(super) fn bci(self, memory: &SafeMemory, method: usize, bcp: u32) -> Option<u16> {
        let const_method = memory.word(method.checked_add(self.const_method)?)?;
        let begin = const_method.wrapping_add(self.const_method_size) as u32;
        let bci = bcp.wrapping_sub(begin) & ((1 << BCP_BITS) - 1);
        let bci = u16::try_from(bci).ok()?;
        let code_size = memory.short(const_method.checked_add(self.code_size)?)?;
        (bci < code_size).then_some(bci)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_outside_the_code_have_no_offset() {
        let offsets = BytecodeOffsets {
            const_method: 8,
            const_method_size: 16,
            code_size: 8,
        };
        // A `Method` and a `ConstMethod` of two words each, and code of 8 bytes.
        let mut words = vec![0_usize; 5];
        let address = words.as_mut_ptr().expose_provenance();
        words[1] = address + 16;
        words[3] = 8;
        let memory = SafeMemory::open().unwrap();
        let code = address + 32;
        let bci = |at: usize| offsets.bci(&memory, address, at as u32 & ((1 << BCP_BITS) - 1));
        assert_eq!((bci(code), bci(code + 7)), (Some(0), Some(7)));
        for outside in [code + 8, code - 1, code + 0xffff, code + 0x1_0000, 0] {
            assert_eq!(bci(outside), None, "{}", outside.wrapping_sub(code));
        }
        words[1] = 8;
        assert_eq!(bci(code), None, "the method is gone");
    }
}
