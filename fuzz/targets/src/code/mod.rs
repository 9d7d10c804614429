//! Checks that the rewritten code of a method preserves the original code and its tables.

mod probes;
mod side;
mod tables;

use loadhook_rewrite::UnknownCodeAttributes;
use loadhook_rewrite::class::Member;
use loadhook_rewrite::code::handlers::ExceptionHandler;
use loadhook_rewrite::code::instructions::Instruction;

use self::probes::{Added, count, ends, is_block};
use self::side::Side;
use self::tables::FIRST_WITH_FRAMES;
use crate::options::OptionSet;

/// Code length from which HotSpot does not compile a method.
const HUGE: usize = 8_000;

/// Checks an instrumented method.
pub(crate) fn check(old: &Member<'_, '_>, new: &Member<'_, '_>, set: OptionSet) {
    let options = set.options();
    let is_constructor = old.name() == b"<init>";
    let has_others = old.index() % 2 == 1;
    let (old, new) = (Side::new(old), Side::new(new));
    assert!(
        new.len() <= 65_535,
        "the method is too long: {} bytes",
        new.len()
    );
    assert!(
        options.allow_huge_methods || new.len() <= HUGE || old.len() > HUGE,
        "the probes made the method longer than {HUGE} bytes"
    );
    assert!(
        old.code.max_stack <= new.code.max_stack,
        "max_stack is smaller than before"
    );
    assert!(
        old.code.max_locals <= new.code.max_locals,
        "max_locals is smaller than before"
    );
    kept(&old, &new);
    let targets = new.targets();
    let table: Vec<_> = new.code.exception_table().collect();
    let probes = Added {
        trace: set.traces(),
        timing: !set.traces() || set == OptionSet::Traces && has_others,
    };
    let added = table
        .iter()
        .rev()
        .take_while(|it| is_block(&new, it, probes));
    // Some option sets add no handler. But one of the method's own handlers may look like an added one.
    let known = (table.len() - added.count()).max(old.code.exception_table().len());
    handlers(&old, &new, &table, known);
    let entered = targets.iter().chain(table.iter().map(|it| &it.handler_pc));
    if matches!(set, OptionSet::Allocations | OptionSet::Counts) {
        let own = old.code.exception_table().len();
        assert_eq!(
            table.len(),
            own,
            "without probes at the method's end, the number of handlers must stay"
        );
    } else {
        ends(
            &new,
            entered.clone(),
            &table[known..],
            is_constructor,
            probes,
        );
    }
    if set.traces() && new.class.major_version() >= FIRST_WITH_FRAMES {
        tables::list_the_time(&new, old.code.max_locals);
    }
    if set == OptionSet::Counts {
        count(&old, &new, entered, has_others);
    }
    let drop_unknown = options.unknown_code_attributes == UnknownCodeAttributes::Drop;
    tables::check(&old, &new, drop_unknown);
}

/// Checks that the method's own instructions are preserved in order, with their operands. Jumps and
/// switches are compared by their targets.
fn kept(old: &Side<'_, '_>, new: &Side<'_, '_>) {
    let is_jump = |it: &&Instruction<'_>| it.jump_target().is_some() || it.switch().is_some();
    let mut rest = new.instructions.iter();
    for instruction in old.instructions.iter().filter(|it| !is_jump(it)) {
        assert!(
            rest.any(|it| it.bytes == instruction.bytes),
            "the instruction at {} is missing",
            instruction.bci
        );
    }
    let jumps = |side: &Side<'_, '_>| side.instructions.iter().filter(is_jump).count();
    assert!(
        jumps(old) <= jumps(new),
        "the new code has fewer jumps than the old"
    );
}

/// Checks the exception table. The method's own entries come first, in their old order; each is
/// unchanged or split into pieces.
fn handlers(old: &Side<'_, '_>, new: &Side<'_, '_>, table: &[ExceptionHandler], known: usize) {
    for entry in table {
        assert!(
            new.is_start(entry.start_pc)
                && new.is_end(entry.end_pc)
                && new.is_start(entry.handler_pc),
            "{entry:?} does not begin and end at instructions"
        );
    }
    let olds: Vec<_> = old.code.exception_table().collect();
    let any_empty = olds.iter().any(|it| it.start_pc >= it.end_pc);
    let (own, added) = table.split_at(known);
    for entry in own {
        assert!(
            entry.start_pc < entry.end_pc || any_empty,
            "{entry:?} covers no code"
        );
    }
    for entry in added {
        assert!(entry.start_pc < entry.end_pc, "{entry:?} covers no code");
        assert!(
            entry.catch_type.is_none(),
            "an added handler has a catch type"
        );
    }
    assert!(
        are_pieces(&olds, own),
        "the handler was split, but {own:?} do not cover the same code as {olds:?}"
    );
}

/// Returns whether the new entries are the old ones in order, each whole or in consecutive pieces.
/// If several old entries are equal, a piece can belong to each of these entries, so all assignments
/// are followed at the same time.
fn are_pieces(olds: &[ExceptionHandler], news: &[ExceptionHandler]) -> bool {
    // For each old entry: true if the previous new entry can be a piece of it.
    let mut owners: Option<Vec<bool>> = None;
    for (i, entry) in news.iter().enumerate() {
        let continues = i > 0 && {
            let before = &news[i - 1];
            before.handler_pc == entry.handler_pc && before.end_pc <= entry.start_pc
        };
        let can_own = |j: usize| match &owners {
            None => j == 0,
            Some(owners) => continues && owners[j] || j > 0 && owners[j - 1],
        };
        let next = (0..olds.len())
            .map(|j| olds[j].catch_type == entry.catch_type && can_own(j))
            .collect();
        owners = Some(next);
    }
    owners.map_or(olds.is_empty(), |it| it.last() == Some(&true))
}
