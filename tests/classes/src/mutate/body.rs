//! The input of a mutation: a method of a class, and a generator of random numbers.

use super::class::{Class, Code};
use super::code_attributes::find;
use super::frames;
use super::instructions::starts;
use super::random::Random;

/// A method of a class that a mutation changes, and the random numbers that determine the change.
pub(super) struct Body<'m> {
    pub(super) class: &'m mut Class,
    pub(super) method: usize,
    pub(super) random: &'m mut Random,
}

impl Body<'_> {
    /// Returns the method's code; `None` if it has none.
    pub(super) fn code(&self) -> Option<&Code> {
        self.class.methods.get(self.method)?.code()
    }

    /// Returns the method's code, to be changed.
    pub(super) fn code_mut(&mut self) -> Option<&mut Code> {
        self.class.methods.get_mut(self.method)?.code_mut()
    }

    /// Returns the offsets of the method's instructions.
    pub(super) fn starts(&self) -> Option<Vec<usize>> {
        starts(&self.code()?.bytes)
    }

    /// Returns the offsets to which a jump may lead: the offsets with a frame, or all offsets if
    /// the class version has no frames.
    pub(super) fn landings(&self) -> Option<Vec<usize>> {
        if self.class.major < 50 {
            return self.starts();
        }
        let info = find(self.class, self.code()?, b"StackMapTable")?;
        Some(frames::parse(info)?.iter().map(|it| it.at).collect())
    }

    /// Returns the offset and opcode of a random instruction for which `wanted` returns true.
    pub(super) fn random_instruction(
        &mut self,
        wanted: impl Fn(u8) -> bool,
    ) -> Option<(usize, u8)> {
        let code = &self.code()?.bytes;
        let starts: Vec<usize> = starts(code)?
            .into_iter()
            .filter(|&at| wanted(code[at]))
            .collect();
        let opcodes: Vec<u8> = starts.iter().map(|&at| code[at]).collect();
        let chosen = self.random.below(starts.len());
        Some((*starts.get(chosen)?, opcodes[chosen]))
    }

    /// Returns the length of the instruction at an offset.
    pub(super) fn length_at(&self, at: usize) -> Option<usize> {
        let starts = self.starts()?;
        let end = starts
            .iter()
            .find(|&&it| it > at)
            .copied()
            .unwrap_or(self.code()?.bytes.len());
        Some(end - at)
    }
}
