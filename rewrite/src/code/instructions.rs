//! Instructions, decoded one at a time (JVMS §6.5).

use crate::code::bci::Bci;
use crate::cp_index::CpIndex;
use crate::error::ErrorKind;
use crate::opcode::{Opcode, Operands, SHAPES};

#[inline]
pub(crate) fn u2_at(code: &[u8], at: usize) -> Option<u16> {
    let bytes = code.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_be_bytes(*bytes))
}

#[inline]
pub(crate) fn i4_at(code: &[u8], at: usize) -> Option<i32> {
    let bytes = code.get(at..)?.first_chunk::<4>()?;
    Some(i32::from_be_bytes(*bytes))
}

/// Returns the length in bytes, 0 to 3, of the padding after a switch opcode at `position`. The operands begin at
/// a multiple of four from the method's first instruction. `position` is an offset in the old code or in the new
/// code.
#[inline]
pub(crate) fn switch_padding(position: u32) -> u32 {
    3 - (position & 3)
}

/// Returns the length in bytes of the instruction at `bci`.
///
/// # Errors
/// When no instruction begins there, or when it exceeds the end of the code.
#[inline]
pub(crate) fn length_at(code: &[u8], bci: usize) -> Result<usize, ErrorKind> {
    let opcode = *code
        .get(bci)
        .ok_or(ErrorKind::BadBytecodeOffset(bci as i64))?;
    let len = match SHAPES[opcode as usize].length {
        0 => variable_length(code, bci, opcode)?,
        len => len as usize,
    };
    if bci + len > code.len() {
        return Err(ErrorKind::UnexpectedEof {
            needed: len,
            left: code.len() - bci,
        });
    }
    Ok(len)
}

#[cold]
fn variable_length(code: &[u8], bci: usize, byte: u8) -> Result<usize, ErrorKind> {
    let eof = ErrorKind::UnexpectedEof {
        needed: 4,
        left: code.len() - bci,
    };
    match Opcode::from_byte(byte).map(Opcode::operands) {
        Some(Operands::Wide) => match code.get(bci + 1).copied().and_then(Opcode::from_byte) {
            Some(Opcode::Iinc) => Ok(6),
            Some(modified) if modified.operands() == Operands::Local => Ok(4),
            Some(modified) => Err(ErrorKind::BadOpcode(modified.byte())),
            None => Err(eof),
        },
        Some(Operands::TableSwitch | Operands::LookupSwitch) => {
            Switch::at(code, bci).map(|switch| switch.len)
        }
        _ => Err(ErrorKind::BadOpcode(byte)),
    }
}

/// A decoded `tableswitch` or `lookupswitch`.
#[derive(Clone, Debug)]
pub struct Switch<'a> {
    /// The jump offset when no key matches.
    pub default: i32,
    /// `low` of a `tableswitch`; `None` for `lookupswitch`.
    pub low: Option<i32>,
    /// The jump offsets of a `tableswitch`, or the match-offset pairs of a `lookupswitch`.
    cases: &'a [[u8; 4]],
    len: usize,
    /// The index into the code where the operands begin, after the padding.
    pub(crate) operands_at: usize,
}

impl<'a> Switch<'a> {
    /// Decodes the switch at `bci`.
    pub(crate) fn at(code: &'a [u8], bci: usize) -> Result<Self, ErrorKind> {
        let operands_at = bci + 1 + switch_padding(bci as u32) as usize;
        let eof = ErrorKind::UnexpectedEof {
            needed: 12,
            left: code.len().saturating_sub(operands_at),
        };
        let word = |n: usize| i4_at(code, operands_at + 4 * n).ok_or(eof.clone());
        let default = word(0)?;
        let table = code.get(bci) == Some(&Opcode::Tableswitch.byte());
        let (low, words, header) = if table {
            let (low, high) = (i64::from(word(1)?), i64::from(word(2)?));
            let words = high - low + 1;
            (Some(low as i32), words, 12)
        } else {
            (None, 2 * i64::from(word(1)?), 8)
        };
        let words = usize::try_from(words).map_err(|_| ErrorKind::BadSwitch)?;
        // The count is compared with the length of the code, so that a huge count takes no time.
        if words > code.len() / 4 || (table && words == 0) {
            return Err(ErrorKind::BadSwitch);
        }
        let cases = code
            .get(operands_at + header..operands_at + header + 4 * words)
            .ok_or(eof)?;
        Ok(Switch {
            default,
            low,
            cases: cases.as_chunks().0,
            len: operands_at + header + 4 * words - bci,
            operands_at,
        })
    }

    /// Returns the length of the instruction in bytes, padding included.
    pub(crate) fn byte_length(&self) -> usize {
        self.len
    }

    /// Returns keys and jump offsets, in code order. A jump offset is relative to the switch.
    pub fn cases(&self) -> impl Iterator<Item = (i32, i32)> + '_ {
        let word = |i: usize| {
            self.cases
                .get(i)
                .map_or(0, |bytes| i32::from_be_bytes(*bytes))
        };
        let count = match self.low {
            Some(_) => self.cases.len(),
            None => self.cases.len() / 2,
        };
        (0..count).map(move |i| match self.low {
            Some(low) => (low.wrapping_add(i as i32), word(i)),
            None => (word(2 * i), word(2 * i + 1)),
        })
    }
}

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub struct Instruction<'a> {
    /// The instruction's offset in the code.
    pub bci: Bci,
    /// The instruction's opcode: `Wide` for an instruction that `wide` modifies.
    pub opcode: Opcode,
    /// The instruction's bytes: opcode and operands.
    pub bytes: &'a [u8],
    code: &'a [u8],
}

impl<'a> Instruction<'a> {
    /// Decodes the instruction at `bci`.
    ///
    /// # Errors
    /// When no instruction begins there, or when it exceeds the end of the code.
    pub fn at(code: &'a [u8], bci: Bci) -> Result<Self, ErrorKind> {
        let start = bci.index();
        let len = length_at(code, start)?;
        let bytes = code.get(start..start + len).unwrap_or_default();
        let byte = bytes.first().copied().unwrap_or(0xff);
        let opcode = Opcode::from_byte(byte).ok_or(ErrorKind::BadOpcode(byte))?;
        Ok(Instruction {
            bci,
            opcode,
            bytes,
            code,
        })
    }

    /// Returns the offset after the instruction: of the next instruction, or `code_length`.
    #[inline]
    pub fn end(&self) -> Bci {
        Bci::from_index(self.bci.index() + self.bytes.len())
    }

    /// Returns the unsigned byte at index `at` of the instruction's bytes; 0 past the end.
    pub fn u1(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// Returns the unsigned 16-bit number at index `at` of the instruction's bytes; 0 past the end.
    pub fn u2(&self, at: usize) -> u16 {
        u2_at(self.bytes, at).unwrap_or(0)
    }

    /// Returns the opcode of the operation: for `wide`, the opcode that it modifies.
    pub fn acting_opcode(&self) -> Opcode {
        match self.opcode {
            Opcode::Wide => Opcode::from_byte(self.u1(1)).unwrap_or(Opcode::Wide),
            opcode => opcode,
        }
    }

    /// Returns the slot of the local variable that the operand names.
    pub fn local(&self) -> u16 {
        match self.opcode {
            Opcode::Wide => self.u2(2),
            _ => u16::from(self.u1(1)),
        }
    }

    /// Returns the index of the constant that the operand names.
    pub fn constant(&self) -> CpIndex {
        CpIndex(match self.opcode.operands() {
            Operands::Constant1 => u16::from(self.u1(1)),
            _ => self.u2(1),
        })
    }

    /// Returns the offset to which a jump instruction jumps. In invalid code it may be negative or past the end.
    pub fn jump_target(&self) -> Option<i64> {
        let offset = match self.opcode.operands() {
            Operands::Branch2 => i64::from(self.u2(1) as i16),
            Operands::Branch4 => i64::from(i4_at(self.bytes, 1)?),
            _ => return None,
        };
        Some(i64::from(self.bci) + offset)
    }

    /// Returns the decoded switch; `None` for any other instruction.
    pub fn switch(&self) -> Option<Switch<'a>> {
        match self.opcode.operands() {
            Operands::TableSwitch | Operands::LookupSwitch => {
                Switch::at(self.code, self.bci.index()).ok()
            }
            _ => None,
        }
    }
}

/// An iterator over the instructions of a method, in code order. It ends at the first unreadable instruction, for
/// which it returns an error.
#[derive(Clone, Debug)]
pub struct Instructions<'a> {
    code: &'a [u8],
    bci: usize,
}

impl<'a> Instructions<'a> {
    /// Returns the instructions of this code.
    pub fn new(code: &'a [u8]) -> Self {
        Instructions { code, bci: 0 }
    }
}

impl<'a> Iterator for Instructions<'a> {
    type Item = Result<Instruction<'a>, ErrorKind>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.bci >= self.code.len() {
            return None;
        }
        let instruction = Instruction::at(self.code, Bci::from_index(self.bci));
        self.bci = match &instruction {
            Ok(instruction) => self.bci + instruction.bytes.len(),
            Err(_) => self.code.len(),
        };
        Some(instruction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(code: &[u8]) -> Vec<usize> {
        Instructions::new(code)
            .map(|i| i.map_or(0, |i| i.bytes.len()))
            .collect()
    }

    #[test]
    fn switch_lengths_depend_on_padding() {
        for nops in 0..4 {
            let mut code = vec![0; nops];
            code.push(Opcode::Tableswitch.byte());
            code.resize(nops + 1 + switch_padding(nops as u32) as usize, 0);
            code.extend([0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 6]);
            code.extend([0; 8]);
            assert_eq!(lengths(&code).last(), Some(&(code.len() - nops)));
        }
    }

    #[test]
    fn wide_lengths() {
        let wide = Opcode::Wide.byte();
        assert_eq!(lengths(&[wide, Opcode::Iinc.byte(), 1, 0, 0, 1]), [6]);
        assert_eq!(lengths(&[wide, Opcode::Ret.byte(), 1, 0]), [4]);
        assert_eq!(lengths(&[wide, Opcode::Nop.byte(), 1, 0]), [0]);
    }

    #[test]
    fn absurd_switches_are_errors() {
        let mut code = vec![Opcode::Lookupswitch.byte(), 0, 0, 0];
        code.extend([0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff]);
        assert_eq!(length_at(&code, 0), Err(ErrorKind::BadSwitch));
        let mut code = vec![Opcode::Tableswitch.byte(), 0, 0, 0];
        code.extend([0, 0, 0, 0, 0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff]);
        assert_eq!(length_at(&code, 0), Err(ErrorKind::BadSwitch));
    }
}
