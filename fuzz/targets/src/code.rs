//! Checks that the rewritten code of a method preserves the original code and its tables.

use loadhook_rewrite::class::{Attribute, ClassFile, Member};
use loadhook_rewrite::code::frames::{FrameFormat, Frames, RawFrame};
use loadhook_rewrite::code::handlers::ExceptionHandler;
use loadhook_rewrite::code::instructions::Instruction;
use loadhook_rewrite::code::type_annotations::Target;
use loadhook_rewrite::code::types::VerificationType;
use loadhook_rewrite::code::{Code, line_table, local_table, type_annotations};
use loadhook_rewrite::opcode::Opcode;
use loadhook_rewrite::{Bci, Error, Structure, UnknownCodeAttributes};

use crate::options::OptionSet;

/// The JVM reads `StackMapTable` from this class file version on. In earlier versions the table may
/// be stale.
const FIRST_WITH_FRAMES: u16 = 50;
/// HotSpot does not compile longer methods.
const HUGE: usize = 8_000;

/// A method's code with its instructions decoded.
struct Side<'c, 'a> {
    class: &'c ClassFile<'a>,
    code: Code<'a>,
    instructions: Vec<Instruction<'a>>,
    /// For each offset, true if an instruction begins there.
    starts: Vec<bool>,
}

impl<'c, 'a> Side<'c, 'a> {
    fn new(method: &Member<'c, 'a>) -> Self {
        let code = match method.code() {
            Ok(Some(code)) => code,
            other => panic!("the code of an instrumented method: {other:?}"),
        };
        let mut starts = vec![false; code.bytecode.len() + 1];
        let instructions: Vec<_> = code
            .instructions()
            .map(|it| it.unwrap_or_else(|kind| panic!("an instruction: {kind}")))
            .inspect(|it| starts[it.bci.index()] = true)
            .collect();
        Side {
            class: method.class(),
            code,
            instructions,
            starts,
        }
    }

    fn len(&self) -> usize {
        self.code.bytecode.len()
    }

    fn is_start(&self, bci: Bci) -> bool {
        self.starts.get(bci.index()).copied().unwrap_or(false)
    }

    /// Returns whether a range can end before `bci`.
    fn is_end(&self, bci: Bci) -> bool {
        self.is_start(bci) || bci.index() == self.len()
    }

    /// The instruction that contains the offset.
    fn around(&self, bci: Bci) -> &Instruction<'a> {
        let behind = self.instructions.partition_point(|it| it.bci <= bci);
        &self.instructions[behind - 1]
    }

    fn opcode_at(&self, bci: Bci) -> Option<Opcode> {
        let byte = self.code.bytecode.get(bci.index()).copied()?;
        Opcode::from_byte(byte).filter(|_| self.is_start(bci))
    }

    /// The targets of jumps and switches.
    fn targets(&self) -> Vec<Bci> {
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

fn is_return(opcode: Opcode) -> bool {
    (Opcode::Ireturn.byte()..=Opcode::Return.byte()).contains(&opcode.byte())
}

/// Checks an instrumented method.
pub(crate) fn check(old: &Member<'_, '_>, new: &Member<'_, '_>, set: OptionSet) {
    let options = set.options();
    let is_constructor = old.name() == b"<init>";
    let has_others = old.index() % 2 == 1;
    let (old, new) = (Side::new(old), Side::new(new));
    assert!(new.len() <= 65_535, "code of {} bytes", new.len());
    assert!(
        options.allow_huge_methods || new.len() <= HUGE || old.len() > HUGE,
        "pushed over {HUGE} bytes"
    );
    assert!(old.code.max_stack <= new.code.max_stack, "max_stack");
    assert!(old.code.max_locals <= new.code.max_locals, "max_locals");
    kept(&old, &new);
    let targets = new.targets();
    let table: Vec<_> = new.code.exception_table().collect();
    let added = table.iter().rev().take_while(|it| is_block(&new, it));
    // Without timing probes no handler is added. One of the method's own handlers may look like an
    // added one.
    let known = (table.len() - added.count()).max(old.code.exception_table().len());
    handlers(&old, &new, &table, known);
    let entered = targets.iter().chain(table.iter().map(|it| &it.handler_pc));
    if matches!(set, OptionSet::Allocations | OptionSet::Counts) {
        let own = old.code.exception_table().len();
        assert_eq!(table.len(), own, "handlers without timing probes");
    } else {
        timing(&new, entered.clone(), &table[known..], is_constructor);
    }
    if set == OptionSet::Counts {
        count(&old, &new, entered, has_others);
    }
    let drop_unknown = options.unknown_code_attributes == UnknownCodeAttributes::Drop;
    tables(&old, &new, drop_unknown);
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
    assert!(jumps(old) <= jumps(new), "jumps are missing");
}

/// Returns whether an entry's handler was added. An added handler consists of the probe and
/// `athrow`. The method's own handlers begin with a call of `caught`, or call nothing.
fn is_block(new: &Side<'_, '_>, entry: &ExceptionHandler) -> bool {
    let from = new
        .instructions
        .partition_point(|it| it.bci < entry.handler_pc);
    let mut rest = new.instructions[from..]
        .iter()
        .skip_while(|it| is_constant(it));
    entry.catch_type.is_none()
        && rest.next().is_some_and(is_call)
        && rest.next().is_some_and(|it| it.opcode == Opcode::Athrow)
}

/// Checks the exception table: the method's own entries come first and in order, each whole or in
/// pieces.
fn handlers(old: &Side<'_, '_>, new: &Side<'_, '_>, table: &[ExceptionHandler], known: usize) {
    for entry in table {
        assert!(
            new.is_start(entry.start_pc)
                && new.is_end(entry.end_pc)
                && new.is_start(entry.handler_pc),
            "{entry:?} is no range of instructions"
        );
    }
    let olds: Vec<_> = old.code.exception_table().collect();
    let any_empty = olds.iter().any(|it| it.start_pc >= it.end_pc);
    let (own, added) = table.split_at(known);
    for entry in own {
        assert!(
            entry.start_pc < entry.end_pc || any_empty,
            "{entry:?} is empty"
        );
    }
    for entry in added {
        assert!(entry.start_pc < entry.end_pc, "{entry:?} is empty");
        assert!(
            entry.catch_type.is_none(),
            "an added handler has a catch type"
        );
    }
    assert!(
        are_pieces(&olds, own),
        "{own:?} are not the pieces of {olds:?}"
    );
}

/// Returns whether the new entries are the old ones, each whole or in consecutive pieces. Old
/// entries may be equal, so all assignments of pieces are followed at the same time.
fn are_pieces(olds: &[ExceptionHandler], news: &[ExceptionHandler]) -> bool {
    // The old entries of which the previous new entry may be a piece.
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

/// Checks the timing probes: every return has a probe, jumps to a return reach its probe, the entry
/// probe runs only once, and the added handlers cover the rest of the code.
fn timing<'t>(
    new: &Side<'_, '_>,
    entered: impl Iterator<Item = &'t Bci>,
    added: &[ExceptionHandler],
    is_constructor: bool,
) {
    let entry = new.instructions.iter().position(is_call);
    let entry = entry.map(|at| end_of(&new.instructions[at]));
    let entry_len = entry.unwrap_or_else(|| panic!("no entry probe"));
    for &target in entered {
        assert!(
            usize::from(target) >= entry_len,
            "a jump leads into the entry probe"
        );
        let opcode = new.opcode_at(target);
        assert!(
            !opcode.is_some_and(is_return),
            "a jump leads past the probe at {target}"
        );
    }
    if added.is_empty() {
        let last = new.instructions.last().map(|it| it.opcode);
        assert!(is_constructor || last.is_some_and(is_return), "no handler");
    }
    // Added handlers end the code.
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
            assert!(!covered[bci], "covered twice: {bci}");
            assert!(wanted[bci], "covered for no reason: {bci}");
            covered[bci] = true;
        }
    }
    if !is_constructor {
        let missing = wanted.iter().zip(&covered).position(|(a, b)| a != b);
        assert_eq!(missing, None, "the code from this offset on is not covered");
    }
}

/// The count probe is the first call, nothing runs it twice, and without another
/// probe that is all that the method needs.
fn count<'t>(
    old: &Side<'_, '_>,
    new: &Side<'_, '_>,
    entered: impl Iterator<Item = &'t Bci>,
    has_others: bool,
) {
    let [push, call, ..] = &new.instructions[..] else {
        panic!("no count probe");
    };
    assert!(is_constant(push) && is_call(call), "no count probe");
    let (name, descriptor) = unwrap(new.class.pool().member(call.constant()));
    assert_eq!((name, descriptor), (&b"count"[..], &b"(I)V"[..]));
    let entry_len = end_of(call);
    for &target in entered {
        assert!(usize::from(target) >= entry_len, "into the count probe");
    }
    if !has_others {
        assert!(new.code.max_stack <= old.code.max_stack + 1, "max_stack");
        assert_eq!(new.code.max_locals, old.code.max_locals, "max_locals");
        let calls = |side: &Side<'_, '_>| side.instructions.iter().filter(|it| is_call(it)).count();
        assert_eq!(calls(new), calls(old) + 1, "calls");
    }
}

fn is_constant(instruction: &Instruction<'_>) -> bool {
    let opcode = instruction.opcode.byte();
    (Opcode::IconstM1.byte()..=Opcode::LdcW.byte()).contains(&opcode)
}

/// The position at which the probe before an instruction begins. Its arguments are constants.
fn probe_start(new: &Side<'_, '_>, at: usize) -> usize {
    let call = at.checked_sub(1).map(|call| &new.instructions[call]);
    let call = call.filter(|it| is_call(it));
    let call = call.unwrap_or_else(|| panic!("no exit probe at {}", new.instructions[at].bci));
    let (_, descriptor) = unwrap(new.class.pool().member(call.constant()));
    let arguments = descriptor.iter().filter(|&&byte| byte == b'I').count();
    let first = (at - 1).checked_sub(arguments);
    let first = first.unwrap_or_else(|| panic!("no arguments at {}", call.bci));
    new.instructions[first].bci.index()
}

fn is_call(instruction: &Instruction<'_>) -> bool {
    instruction.opcode == Opcode::Invokestatic
}

fn end_of(instruction: &Instruction<'_>) -> usize {
    instruction.end().index()
}

fn tables(old: &Side<'_, '_>, new: &Side<'_, '_>, drop_unknown: bool) {
    let mut rest = new.code.attributes().map(unwrap);
    for before in old.code.attributes().map(unwrap) {
        let old_name = name(old, &before);
        let known = matches!(
            old_name,
            b"LineNumberTable"
                | b"LocalVariableTable"
                | b"LocalVariableTypeTable"
                | b"StackMapTable"
                | b"StackMap"
                | b"RuntimeVisibleTypeAnnotations"
                | b"RuntimeInvisibleTypeAnnotations"
        );
        if !known {
            assert!(drop_unknown, "an unknown attribute in instrumented code");
            continue;
        }
        let after = rest.next().unwrap_or_else(|| panic!("a table is missing"));
        assert_eq!(name(new, &after), old_name, "tables");
        table(old, new, old_name, &before, &after);
    }
    if let Some(added) = rest.next() {
        assert_eq!(name(new, &added), b"StackMapTable", "added");
        let frames = unwrap(read_frames(new, &added));
        in_order(new, &frames);
    }
    assert!(rest.next().is_none(), "added attributes");
}

fn name<'a>(side: &Side<'_, 'a>, attribute: &Attribute<'_>) -> &'a [u8] {
    unwrap(side.class.pool().utf8(attribute.name_index))
}

fn table(
    old: &Side<'_, '_>,
    new: &Side<'_, '_>,
    name: &[u8],
    before: &Attribute<'_>,
    after: &Attribute<'_>,
) {
    match name {
        b"LineNumberTable" => lines(old, new, before, after),
        b"LocalVariableTable" | b"LocalVariableTypeTable" => locals(old, new, before, after),
        b"StackMapTable" if old.class.major_version() >= FIRST_WITH_FRAMES => {
            frames(old, new, before, after);
        }
        // The JVM does not read this table, so it may be stale, and is then kept unchanged.
        b"StackMapTable" | b"StackMap" => {}
        _ => annotations(old, new, before, after),
    }
}

fn unwrap<T>(result: Result<T, Error>) -> T {
    result.unwrap_or_else(|error| panic!("a table of instrumented code: {error}"))
}

/// Checks an offset of a debug table: it still points to the same instruction, or inside it.
fn place(old: &Side<'_, '_>, new: &Side<'_, '_>, before: Bci, after: Bci) {
    assert!(usize::from(after) <= new.len(), "{before} → {after}");
    assert!(
        before != Bci::START || after == Bci::START,
        "{before} → {after}"
    );
    assert!(
        !old.is_start(before) || new.is_start(after),
        "{before} → {after}"
    );
    // The end of the old code is now the beginning of the added handlers.
    assert_eq!(old.is_end(before), new.is_end(after), "{before} → {after}");
    if !old.is_end(before) && usize::from(before) < old.len() {
        let (was, is) = (old.around(before), new.around(after));
        // A jump may have been widened, perhaps into two instructions.
        let same = was.opcode == is.opcode || was.jump_target().is_some();
        assert!(
            same,
            "inside {:?} at {before} → {:?} at {after}",
            was.opcode, is.opcode
        );
    }
}

fn lines(old: &Side<'_, '_>, new: &Side<'_, '_>, before: &Attribute<'_>, after: &Attribute<'_>) {
    let read = |it: &Attribute<'_>| -> Vec<(Bci, u16)> {
        unwrap(line_table::entries(it.reader(Structure::Named("lines"))).map(Iterator::collect))
    };
    let (before, after) = (read(before), read(after));
    assert_eq!(before.len(), after.len(), "lines");
    let mut previous = None;
    for ((old_pc, old_line), (new_pc, new_line)) in before.into_iter().zip(after) {
        assert_eq!(old_line, new_line);
        match previous {
            // A second line of one instruction may point behind the probe that precedes the
            // instruction.
            Some((pc, first)) if pc == old_pc => {
                assert!(
                    first <= new_pc && usize::from(new_pc) < new.len(),
                    "{pc} → {new_pc}"
                );
                assert_eq!(old.is_end(old_pc), new.is_end(new_pc), "{pc} → {new_pc}");
            }
            _ => {
                place(old, new, old_pc, new_pc);
                previous = Some((old_pc, new_pc));
            }
        }
    }
}

fn locals(old: &Side<'_, '_>, new: &Side<'_, '_>, before: &Attribute<'_>, after: &Attribute<'_>) {
    let read = |it: &Attribute<'_>| -> Vec<local_table::LocalVariable> {
        unwrap(local_table::entries(it.reader(Structure::Named("locals"))).map(Iterator::collect))
    };
    let (before, after) = (read(before), read(after));
    assert_eq!(before.len(), after.len(), "locals");
    for (before, after) in before.into_iter().zip(after) {
        assert_eq!(
            (before.name_index, before.descriptor_index, before.index),
            (after.name_index, after.descriptor_index, after.index)
        );
        range(
            old,
            new,
            (before.start_pc, before.length),
            (after.start_pc, after.length),
        );
    }
}

fn range(old: &Side<'_, '_>, new: &Side<'_, '_>, before: (Bci, u16), after: (Bci, u16)) {
    place(old, new, before.0, after.0);
    let end = |(start, length): (Bci, u16)| start.0.checked_add(length).map(Bci);
    let (Some(old_end), Some(new_end)) = (end(before), end(after)) else {
        panic!("{before:?} → {after:?}");
    };
    place(old, new, old_end, new_end);
}

/// Checks that old and new frames are at instructions and in order, and that uninitialised objects
/// in frames still refer to `new` instructions.
fn frames(old: &Side<'_, '_>, new: &Side<'_, '_>, before: &Attribute<'_>, after: &Attribute<'_>) {
    // Frames may refer to constants that are no classes, since these are copied without being read.
    let Ok(before) = read_frames(old, before) else {
        return;
    };
    let after = unwrap(read_frames(new, after));
    in_order(new, &after);
    assert!(before.len() <= after.len(), "frames are missing");
    if objects_are_new(old, &before) {
        assert!(
            objects_are_new(new, &after),
            "an uninitialised object does not come from a `new`"
        );
    }
}

fn read_frames<'a>(side: &Side<'_, 'a>, it: &Attribute<'a>) -> Result<Vec<RawFrame<'a>>, Error> {
    let reader = it.reader(Structure::Named("frames"));
    Frames::new(side.class.pool(), reader, FrameFormat::StackMapTable)?.collect()
}

fn in_order(side: &Side<'_, '_>, frames: &[RawFrame<'_>]) {
    assert!(
        frames.is_sorted_by(|a, b| a.bci < b.bci),
        "frames out of order"
    );
    for frame in frames {
        assert!(side.is_start(frame.bci), "a frame at {}", frame.bci);
    }
}

/// Returns whether each uninitialised object in the frames comes from a `new`.
fn objects_are_new(side: &Side<'_, '_>, frames: &[RawFrame<'_>]) -> bool {
    let values = frames
        .iter()
        .flat_map(|it| it.locals.iter().chain(&it.stack));
    values.into_iter().all(|value| match *value {
        VerificationType::Uninitialized(at) => side.opcode_at(at) == Some(Opcode::New),
        _ => true,
    })
}

fn annotations(
    old: &Side<'_, '_>,
    new: &Side<'_, '_>,
    before: &Attribute<'_>,
    after: &Attribute<'_>,
) {
    let in_annotations = Structure::Named("type annotations");
    let handlers = new.code.exception_table().len();
    let old_handlers = old.code.exception_table().len();
    assert_eq!(before.info.len(), after.info.len(), "type annotations");
    let list = unwrap(type_annotations::entries(before.reader(in_annotations)));
    let new_list = unwrap(type_annotations::entries(after.reader(in_annotations)));
    assert_eq!(list.len(), new_list.len(), "type annotations");
    for (before, after) in list.iter().zip(&new_list) {
        assert_eq!(before.target_type, after.target_type);
        assert_eq!(
            (before.path, before.type_index),
            (after.path, after.type_index)
        );
        match (&before.target, &after.target) {
            (Target::LocalVariable(before), Target::LocalVariable(after)) => {
                assert_eq!(before.len(), after.len());
                for (before, after) in before.iter().zip(after) {
                    assert_eq!(before.2, after.2);
                    range(old, new, (before.0, before.1), (after.0, after.1));
                }
            }
            (Target::Catch(before), Target::Catch(after)) => {
                // The index may have changed, since entries before it may have been split.
                assert!(before <= after);
                if usize::from(*before) < old_handlers {
                    assert!(usize::from(*after) < handlers);
                    let mut olds = old.code.exception_table();
                    let mut news = new.code.exception_table();
                    let catch_type = olds.nth(usize::from(*before)).map(|it| it.catch_type);
                    let found = news.nth(usize::from(*after)).map(|it| it.catch_type);
                    assert_eq!(found, catch_type, "another entry is annotated");
                }
            }
            (Target::Offset(before), Target::Offset(after)) => {
                assert_eq!(old.opcode_at(*before), new.opcode_at(*after));
            }
            (Target::TypeArgument(before, a), Target::TypeArgument(after, b)) => {
                assert_eq!(a, b);
                assert_eq!(old.opcode_at(*before), new.opcode_at(*after));
            }
            other => panic!("{other:?}"),
        }
    }
}
