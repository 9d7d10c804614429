//! Straight-line code of an exact length.

use crate::assembler::{CodeBuilder, op};

/// Number of additional operand stack slots that a [`Filler`] needs.
pub const SITE_STACK: u16 = 2;

/// Straight-line code of an exact length. It only makes allocations. Probes at the allocations make
/// the code longer, although it has no branch, return or frame.
///
/// It needs no local variable and [`SITE_STACK`] slots of operand stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filler {
    /// Bytes of code.
    pub length: usize,
    /// Number of allocations in the code.
    pub sites: usize,
}

impl Filler {
    /// Appends the filler.
    pub fn emit(self, code: &mut CodeBuilder<'_>) {
        let start = code.pc();
        let end = start + self.length;
        // Allocations of four kinds take turns; they take 4, 4, 5 and 7 bytes.
        let needed = self.sites / 4 * 20 + [0, 4, 8, 13][self.sites % 4];
        let spare = self.length.saturating_sub(needed);
        let gap = spare / (self.sites + 1);
        for site in 0..self.sites {
            let gap_end = code.pc() + gap;
            code.nops_to(gap_end);
            emit_site(code, site);
        }
        code.nops_to(end);
    }
}

/// Appends one allocation whose result is dropped.
fn emit_site(code: &mut CodeBuilder<'_>, site: usize) {
    match site % 4 {
        0 => code.typed(op::NEW, "java/lang/Object"),
        1 => code.iconst(1).newarray(10),
        2 => code.iconst(1).typed(op::ANEWARRAY, "java/lang/String"),
        _ => code.iconst(1).iconst(2).multianewarray("[[I", 2),
    };
    code.op(op::POP);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembler::{ClassBuilder, access};

    #[test]
    fn length_is_exact() {
        for (length, sites) in [(0, 0), (7, 0), (4, 1), (21, 4), (1000, 24)] {
            let mut class = ClassBuilder::new(52, "T");
            class.method(access::STATIC, "m", "()V", |code| {
                Filler { length, sites }.emit(code);
                assert_eq!(code.pc(), length);
                code.op(op::RETURN);
            });
            assert!(
                class.finish().is_ok(),
                "a class of {length} bytes with {sites} sites cannot be assembled"
            );
        }
    }
}
