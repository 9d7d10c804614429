//! The code of a method, before or after it was instrumented.

use loadhook_rewrite::class::{ClassFile, Member};
use loadhook_rewrite::code::Code;
use loadhook_rewrite::code::instructions::Instruction;
use loadhook_rewrite::opcode::Opcode;
use loadhook_rewrite::{Bci, Error};

/// A method's code with its instructions decoded.
pub(super) struct Side<'c, 'a> {
    pub(super) class: &'c ClassFile<'a>,
    pub(super) code: Code<'a>,
    pub(super) instructions: Vec<Instruction<'a>>,
    /// For each offset, true if an instruction begins there.
    starts: Vec<bool>,
}

impl<'c, 'a> Side<'c, 'a> {
    pub(super) fn new(method: &Member<'c, 'a>) -> Self {
        let code = match method.code() {
            Ok(Some(code)) => code,
            other => panic!("an instrumented method has no readable code: {other:?}"),
        };
        let mut starts = vec![false; code.bytecode.len() + 1];
        let instructions: Vec<_> = code
            .instructions()
            .map(|it| it.unwrap_or_else(|kind| panic!("cannot decode an instruction: {kind}")))
            .inspect(|it| starts[it.bci.index()] = true)
            .collect();
        Side {
            class: method.class(),
            code,
            instructions,
            starts,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.code.bytecode.len()
    }

    pub(super) fn is_start(&self, bci: Bci) -> bool {
        self.starts.get(bci.index()).copied().unwrap_or(false)
    }

    /// Returns whether `bci` can be the exclusive end of a range.
    pub(super) fn is_end(&self, bci: Bci) -> bool {
        self.is_start(bci) || bci.index() == self.len()
    }

    /// Returns the instruction that contains the byte at `bci`.
    pub(super) fn around(&self, bci: Bci) -> &Instruction<'a> {
        let behind = self.instructions.partition_point(|it| it.bci <= bci);
        &self.instructions[behind - 1]
    }

    pub(super) fn opcode_at(&self, bci: Bci) -> Option<Opcode> {
        let byte = self.code.bytecode.get(bci.index()).copied()?;
        Opcode::from_byte(byte).filter(|_| self.is_start(bci))
    }

    /// Returns the targets of all jumps and switches.
    pub(super) fn targets(&self) -> Vec<Bci> {
        let mut targets = Vec::new();
        for instruction in &self.instructions {
            let bci = i64::from(instruction.bci);
            let mut push = |target: i64| {
                let target = u16::try_from(target)
                    .ok()
                    .map(Bci)
                    .filter(|&it| self.is_start(it));
                targets.push(target.unwrap_or_else(|| panic!("the jump at {bci} has no target")));
            };
            if let Some(target) = instruction.jump_target() {
                push(target);
            }
            if let Some(switch) = instruction.switch() {
                push(bci + i64::from(switch.default));
                for (_, offset) in switch.cases() {
                    push(bci + i64::from(offset));
                }
            }
        }
        targets
    }
}

pub(super) fn unwrap<T>(result: Result<T, Error>) -> T {
    result.unwrap_or_else(|error| panic!("cannot read a table of instrumented code: {error}"))
}
