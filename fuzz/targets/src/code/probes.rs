//! Checks the calls that the rewriter added to a method.

use loadhook_rewrite::Bci;
use loadhook_rewrite::code::handlers::ExceptionHandler;
use loadhook_rewrite::code::instructions::Instruction;
use loadhook_rewrite::opcode::Opcode;

use super::side::{Side, unwrap};

/// Checks the timing probes: every return has a probe, jumps to a return reach its probe, the entry
/// probe runs only once, and the added handlers cover the rest of the code.
pub(super) fn timing<'t>(
    new: &Side<'_, '_>,
    entered: impl Iterator<Item = &'t Bci>,
    added: &[ExceptionHandler],
    is_constructor: bool,
) {
    let entry = new.instructions.iter().position(is_call);
    let entry = entry.map(|at| end_of(&new.instructions[at]));
    let entry_len = entry.unwrap_or_else(|| panic!("the method has no entry probe"));
    for &target in entered {
        assert!(
            usize::from(target) >= entry_len,
            "a jump leads into the entry probe"
        );
        let opcode = new.opcode_at(target);
        assert!(
            !opcode.is_some_and(is_return),
            "a jump to the return at {target} passes by its exit probe"
        );
    }
    if added.is_empty() {
        let last = new.instructions.last().map(|it| it.opcode);
        assert!(
            is_constructor || last.is_some_and(is_return),
            "the method has no added handler, although it does not consist of a return alone"
        );
    }
    // The handlers that the rewriter adds stand at the end of the code.
    let blocks = added.iter().map(|it| usize::from(it.handler_pc)).min();
    let blocks = blocks.unwrap_or(new.len());
    let mut wanted = vec![false; new.len()];
    wanted[entry_len..blocks].fill(true);
    for (at, instruction) in new.instructions.iter().enumerate() {
        if is_return(instruction.opcode) {
            let probe = probe_start(new, at);
            wanted[probe..=instruction.bci.index()].fill(false);
        }
    }
    let mut covered = vec![false; new.len()];
    for entry in added {
        for bci in usize::from(entry.start_pc)..usize::from(entry.end_pc) {
            assert!(!covered[bci], "bci {bci} is covered by two added handlers");
            assert!(
                wanted[bci],
                "bci {bci} needs no added handler, but is covered by one"
            );
            covered[bci] = true;
        }
    }
    if !is_constructor {
        let missing = wanted.iter().zip(&covered).position(|(a, b)| a != b);
        assert_eq!(missing, None, "the code from this offset on is not covered");
    }
}

/// Checks the count probe: it is the first call of the method and is executed only once. If the
/// method has no other probe, nothing else was added.
pub(super) fn count<'t>(
    old: &Side<'_, '_>,
    new: &Side<'_, '_>,
    entered: impl Iterator<Item = &'t Bci>,
    has_others: bool,
) {
    let [push, call, ..] = &new.instructions[..] else {
        panic!("the method has no count probe");
    };
    assert!(
        is_constant(push) && is_call(call),
        "the method does not begin with a count probe"
    );
    let (name, descriptor) = unwrap(new.class.pool().member(call.constant()));
    assert_eq!((name, descriptor), (&b"count"[..], &b"(I)V"[..]));
    let entry_len = end_of(call);
    for &target in entered {
        assert!(
            usize::from(target) >= entry_len,
            "a jump leads into the count probe"
        );
    }
    if !has_others {
        assert!(
            new.code.max_stack <= old.code.max_stack + 1,
            "a count probe adds more than one to max_stack"
        );
        assert_eq!(
            new.code.max_locals, old.code.max_locals,
            "a count probe changed max_locals"
        );
        let calls = |side: &Side<'_, '_>| side.instructions.iter().filter(|it| is_call(it)).count();
        assert_eq!(
            calls(new),
            calls(old) + 1,
            "a count probe must add exactly one call"
        );
    }
}

pub(super) fn is_constant(instruction: &Instruction<'_>) -> bool {
    let opcode = instruction.opcode.byte();
    (Opcode::IconstM1.byte()..=Opcode::LdcW.byte()).contains(&opcode)
}

/// Returns the offset at which the probe before an instruction begins: that of the first constant
/// that the probe pushes.
fn probe_start(new: &Side<'_, '_>, at: usize) -> usize {
    let call = at.checked_sub(1).map(|call| &new.instructions[call]);
    let call = call.filter(|it| is_call(it));
    let call = call.unwrap_or_else(|| {
        panic!(
            "no exit probe before the instruction at {}",
            new.instructions[at].bci
        )
    });
    let (_, descriptor) = unwrap(new.class.pool().member(call.constant()));
    let arguments = descriptor.iter().filter(|&&byte| byte == b'I').count();
    let first = (at - 1).checked_sub(arguments);
    let first = first.unwrap_or_else(|| panic!("the probe at {} has no arguments", call.bci));
    new.instructions[first].bci.index()
}

pub(super) fn is_call(instruction: &Instruction<'_>) -> bool {
    instruction.opcode == Opcode::Invokestatic
}

fn is_return(opcode: Opcode) -> bool {
    (Opcode::Ireturn.byte()..=Opcode::Return.byte()).contains(&opcode.byte())
}

fn end_of(instruction: &Instruction<'_>) -> usize {
    instruction.end().index()
}
