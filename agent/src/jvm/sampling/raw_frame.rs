//! The frames that the signal handler writes, one word for each. The methods of the frames are found later, outside the
//! handler.

use super::code_map::{CodeId, CodeKind};

/// A frame that was found on a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RawFrame {
    /// A place in compiled code. Its methods are those of the first site whose offset is `offset` or greater.
    Compiled { code: CodeId, offset: u32 },
    /// A place in an interpreted method: the number of the noted method, and the low [`BCP_BITS`] bits of the address
    /// of the instruction in its bytecode.
    Interpreted { method: u32, bcp: u32 },
    /// An interpreted method that is not in the table of methods while the table is being filled, or only as an old
    /// version: the address of HotSpot's `Method`.
    Method(usize),
    /// The interpreter at the entry or exit of a method, where it has no frame: a word that may be the address of a
    /// method, as in [`Method`](Self::Method). If it is none, the outer frames are correct all the same.
    Entry(usize),
    /// An address outside known code.
    Address(usize),
    /// Generated code that belongs to no method.
    Stub(CodeKind),
}

/// The position of the lowest bit of the frame's kind. The kind takes the highest bits of the word.
const KIND: u32 = 62;

/// The number of low bits of a bytecode address that a word has room for. They are enough to distinguish all places in
/// a method.
pub(super) const BCP_BITS: u32 = 30;

/// The bit that distinguishes the address of a method from an address in code. No address needs this bit for itself, nor
/// the next one.
const IS_METHOD: u64 = 1 << 61;

/// The bit that distinguishes [`RawFrame::Entry`] from [`RawFrame::Method`].
const IS_ENTRY: u64 = 1 << 60;

/// Mask of the bits of an address.
const ADDRESS: u64 = IS_ENTRY - 1;

impl RawFrame {
    /// Encodes the frame in a word.
    pub(super) fn word(self) -> u64 {
        match self {
            RawFrame::Compiled { code, offset } => u64::from(code.0) << 32 | u64::from(offset),
            RawFrame::Interpreted { method, bcp } => {
                1 << KIND | u64::from(bcp & ((1 << BCP_BITS) - 1)) << 32 | u64::from(method)
            }
            RawFrame::Method(address) => 2 << KIND | IS_METHOD | (address as u64 & ADDRESS),
            RawFrame::Entry(word) => 2 << KIND | IS_METHOD | IS_ENTRY | (word as u64 & ADDRESS),
            RawFrame::Address(pc) => 2 << KIND | (pc as u64 & ADDRESS),
            RawFrame::Stub(kind) => 3 << KIND | kind as u64,
        }
    }

    /// Decodes the frame from a word.
    pub(super) fn of(word: u64) -> RawFrame {
        match word >> KIND {
            0 => RawFrame::Compiled {
                code: CodeId((word >> 32) as u32),
                offset: word as u32,
            },
            1 => RawFrame::Interpreted {
                method: word as u32,
                bcp: (word >> 32) as u32 & ((1 << BCP_BITS) - 1),
            },
            2 if word & IS_METHOD != 0 && word & IS_ENTRY != 0 => {
                RawFrame::Entry((word & ADDRESS) as usize)
            }
            2 if word & IS_METHOD != 0 => RawFrame::Method((word & ADDRESS) as usize),
            2 => RawFrame::Address((word & ADDRESS) as usize),
            _ => RawFrame::Stub(CodeKind::of(word as u32)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_as_it_was_written() {
        for frame in [
            RawFrame::Compiled {
                code: CodeId(4_000_000),
                offset: u32::MAX,
            },
            RawFrame::Interpreted {
                method: u32::MAX,
                bcp: (1 << BCP_BITS) - 1,
            },
            RawFrame::Interpreted { method: 0, bcp: 1 },
            RawFrame::Method(0x7fff_ffff_fff8),
            RawFrame::Entry(0x7fff_ffff_fff8),
            RawFrame::Address(0x7fff_ffff_ffff),
            RawFrame::Stub(CodeKind::Interpreter),
            RawFrame::Stub(CodeKind::Dispatch),
        ] {
            assert_eq!(RawFrame::of(frame.word()), frame);
        }
    }
}
