//! Checks the calls that the rewriter added to a method.

use loadhook_rewrite::Bci;
use loadhook_rewrite::code::handlers::ExceptionHandler;
use loadhook_rewrite::code::instructions::Instruction;
use loadhook_rewrite::descriptor::parameters;
use loadhook_rewrite::opcode::Opcode;

use super::side::{Side, unwrap};

/// The families of probes that were added at a method's entry and ends.
#[derive(Clone, Copy)]
pub(super) struct Added {
    pub(super) timing: bool,
    pub(super) trace: bool,
}

/// Returns whether the handler of `entry` was added by the rewriter. An added handler consists of
/// the probes and `athrow`. The method's own handlers begin with a call of `caught`, or with no call of the tracker.
pub(super) fn is_block(new: &Side<'_, '_>, entry: &ExceptionHandler, added: Added) -> bool {
    let from = new
        .instructions
        .partition_point(|it| it.bci < entry.handler_pc);
    let mut rest = &new.instructions[from..];
    let mut skip = |is_skipped: &dyn Fn(&Instruction<'_>) -> bool| {
        let count = rest.iter().take_while(|it| is_skipped(it)).count();
        rest = &rest[count..];
        let call = rest.split_first().filter(|(it, _)| is_call(it));
        rest = call.map_or(&[], |(_, rest)| rest);
    };
    if added.trace {
        skip(&|it| it.opcode == Opcode::Dup || is_load(it) || is_constant(it));
    }
    if added.timing {
        skip(&|it| is_constant(it));
    }
    entry.catch_type.is_none() && rest.first().is_some_and(|it| it.opcode == Opcode::Athrow)
}

/// Returns the offset behind the probes at the method's entry. With `trace`, they end with reading the clock and
/// storing the time.
fn entry_end(new: &Side<'_, '_>, added: Added) -> usize {
    let mut instructions = new.instructions.iter();
    let is_last = |it: &&Instruction<'_>| {
        is_call(it)
            && (!added.trace || unwrap(new.class.pool().member(it.constant())).0 == b"traceEnter")
    };
    let mut last = instructions.by_ref().find(is_last);
    if added.trace {
        last = instructions
            .next()
            .filter(|it| it.acting_opcode() == Opcode::Lstore);
    }
    last.map_or_else(|| panic!("the method has no entry probe"), end_of)
}

/// Checks the probes at the method's entry and ends: every return has them, jumps to a return reach its probe, the
/// entry probe runs only once, and the added handlers cover the rest of the code.
pub(super) fn ends<'t>(
    new: &Side<'_, '_>,
    entered: impl Iterator<Item = &'t Bci>,
    handlers: &[ExceptionHandler],
    is_constructor: bool,
    added: Added,
) {
    let entry_len = entry_end(new, added);
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
    if handlers.is_empty() {
        let last = new.instructions.last().map(|it| it.opcode);
        assert!(
            is_constructor || last.is_some_and(is_return),
            "the method has no added handler, although it does not consist of a return alone"
        );
    }
    // The handlers that the rewriter adds stand at the end of the code.
    let blocks = handlers.iter().map(|it| usize::from(it.handler_pc)).min();
    let blocks = blocks.unwrap_or(new.len());
    let mut wanted = vec![false; new.len()];
    wanted[entry_len..blocks].fill(true);
    for (at, instruction) in new.instructions.iter().enumerate() {
        if is_return(instruction.opcode) {
            let probe = probe_start(new, at, added);
            wanted[probe..=instruction.bci.index()].fill(false);
        }
    }
    let mut covered = vec![false; new.len()];
    for entry in handlers {
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

fn is_constant(instruction: &Instruction<'_>) -> bool {
    let opcode = instruction.opcode.byte();
    (Opcode::IconstM1.byte()..=Opcode::LdcW.byte()).contains(&opcode)
}

/// Returns the offset at which the probes before a return begin: the offset of the instruction that pushes their first
/// value.
fn probe_start(new: &Side<'_, '_>, at: usize, added: Added) -> usize {
    let mut first = at;
    if added.timing {
        first = arguments_of_call_before(new, first).0;
    }
    if added.trace {
        let (start, descriptor) = arguments_of_call_before(new, first);
        first = start;
        // The list of values is pushed before the time: by one load, or by three instructions that add the result.
        if descriptor.starts_with(b"(Ljava/lang/Object;") {
            let before = &new.instructions[first - 1];
            first -= if is_call(before) { 3 } else { 1 };
        }
    }
    new.instructions[first].bci.index()
}

/// Looks at the call before the instruction `at`. Returns the index of the first instruction that pushes one of the
/// call's numbers, and the call's descriptor.
fn arguments_of_call_before<'a>(new: &Side<'_, 'a>, at: usize) -> (usize, &'a [u8]) {
    let call = at.checked_sub(1).map(|call| &new.instructions[call]);
    let call = call.filter(|it| is_call(it));
    let call = call.unwrap_or_else(|| {
        panic!(
            "no exit probe before the instruction at {}",
            new.instructions[at].bci
        )
    });
    let (_, descriptor) = unwrap(new.class.pool().member(call.constant()));
    let parameters = parameters(descriptor);
    let numbers = parameters.filter(|it| matches!(*it, b"I" | b"J")).count();
    let first = (at - 1).checked_sub(numbers);
    let first = first.unwrap_or_else(|| panic!("the probe at {} has no arguments", call.bci));
    (first, descriptor)
}

fn is_load(instruction: &Instruction<'_>) -> bool {
    matches!(instruction.acting_opcode(), Opcode::Lload | Opcode::Aload)
}

fn is_call(instruction: &Instruction<'_>) -> bool {
    instruction.opcode == Opcode::Invokestatic
}

fn is_return(opcode: Opcode) -> bool {
    (Opcode::Ireturn.byte()..=Opcode::Return.byte()).contains(&opcode.byte())
}

fn end_of(instruction: &Instruction<'_>) -> usize {
    instruction.end().index()
}
