//! The operands of each conditional branch: their types, values with which the branch jumps, and
//! values with which it does not.

use crate::assembler::{CodeBuilder, op};
use crate::shapes::Arg;

/// The operands of a conditional branch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Condition {
    /// The branch.
    pub(super) opcode: u8,
    /// Number of operands that the branch pops.
    pub(super) count: u16,
    /// True if the operands are references.
    pub(super) references: bool,
    /// Values with which the branch jumps.
    pub(super) jumps: [Arg; 2],
    /// Values with which the branch does not jump.
    pub(super) stays: [Arg; 2],
}

impl Condition {
    /// Returns the operands of `opcode`, which must be a conditional branch.
    pub(super) fn of(opcode: u8) -> Self {
        let int = |a, b| [Arg::Int(a), Arg::Int(b)];
        let same = [Arg::Text("a"), Arg::Text("a")];
        let other = [Arg::Text("a"), Arg::Text("b")];
        let null = [Arg::Null, Arg::Null];
        let (count, references, jumps, stays) = match opcode {
            op::IFEQ => (1, false, int(0, 0), int(1, 0)),
            op::IFNE => (1, false, int(1, 0), int(0, 0)),
            op::IFLT => (1, false, int(-1, 0), int(0, 0)),
            op::IFGE => (1, false, int(0, 0), int(-1, 0)),
            op::IFGT => (1, false, int(1, 0), int(0, 0)),
            op::IFLE => (1, false, int(0, 0), int(1, 0)),
            op::IF_ICMPEQ => (2, false, int(7, 7), int(7, 8)),
            op::IF_ICMPNE => (2, false, int(7, 8), int(7, 7)),
            op::IF_ICMPLT => (2, false, int(7, 8), int(8, 8)),
            op::IF_ICMPGE => (2, false, int(8, 8), int(7, 8)),
            op::IF_ICMPGT => (2, false, int(8, 7), int(8, 8)),
            op::IF_ICMPLE => (2, false, int(8, 8), int(8, 7)),
            op::IF_ACMPEQ => (2, true, same, other),
            op::IF_ACMPNE => (2, true, other, same),
            op::IFNULL => (1, true, null, same),
            op::IFNONNULL => (1, true, same, null),
            _ => unreachable!("{} is no conditional branch", op::mnemonic(opcode)),
        };
        Self {
            opcode,
            count,
            references,
            jumps,
            stays,
        }
    }

    /// Returns the descriptor of one operand.
    pub(super) fn descriptor(&self) -> &'static str {
        if self.references {
            "Ljava/lang/Object;"
        } else {
            "I"
        }
    }

    /// Pushes the operands from the locals `first` and `first + 1`.
    pub(super) fn push(&self, code: &mut CodeBuilder<'_>, first: u16) {
        let load = if self.references {
            op::ALOAD
        } else {
            op::ILOAD
        };
        for index in 0..self.count {
            code.local(load, first + index);
        }
    }

    /// Copies the two locals `from` to the two locals `to`.
    pub(super) fn copy(&self, code: &mut CodeBuilder<'_>, from: u16, to: u16) {
        let (load, store) = match self.references {
            true => (op::ALOAD, op::ASTORE),
            false => (op::ILOAD, op::ISTORE),
        };
        for index in 0..2 {
            code.local(load, from + index).local(store, to + index);
        }
    }
}
