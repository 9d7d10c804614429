//! Checks of the tables of a method's code: lines, local variables, frames and type annotations.

use loadhook_rewrite::class::Attribute;
use loadhook_rewrite::code::frames::{FrameFormat, Frames, RawFrame};
use loadhook_rewrite::code::type_annotations::Target;
use loadhook_rewrite::code::types::VerificationType;
use loadhook_rewrite::code::{line_table, local_table, type_annotations};
use loadhook_rewrite::opcode::Opcode;
use loadhook_rewrite::{Bci, Error, Structure};

use super::side::{Side, unwrap};

/// The JVM reads `StackMapTable` from this class file version on. In earlier versions the table may
/// be stale.
pub(super) const FIRST_WITH_FRAMES: u16 = 50;

/// Checks that each table of the old code has its counterpart.
pub(super) fn check(old: &Side<'_, '_>, new: &Side<'_, '_>, drop_unknown: bool) {
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
            assert!(
                drop_unknown,
                "the code has an unknown attribute, so it must not be instrumented"
            );
            continue;
        }
        let after = rest
            .next()
            .unwrap_or_else(|| panic!("an attribute of the old code is missing in the new code"));
        assert_eq!(
            name(new, &after),
            old_name,
            "the attributes of the code have another order"
        );
        table(old, new, old_name, &before, &after);
    }
    if let Some(added) = rest.next() {
        assert_eq!(
            name(new, &added),
            b"StackMapTable",
            "only a StackMapTable may be added to the code"
        );
        let frames = unwrap(read_frames(new, &added));
        in_order(new, &frames);
    }
    assert!(
        rest.next().is_none(),
        "more than one attribute was added to the code"
    );
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
        // The JVM does not read this table in classes before version 50. It may be stale there, and
        // the rewriter copies it unchanged.
        b"StackMapTable" | b"StackMap" => {}
        _ => annotations(old, new, before, after),
    }
}

/// Checks an offset in a debug table. If it pointed to the beginning of an instruction, it must point
/// to the beginning of an instruction after rewriting. Both instructions must have the same opcode.
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
    // This offset is the end of the old code. In the new code, the added handlers begin there.
    assert_eq!(old.is_end(before), new.is_end(after), "{before} → {after}");
    if !old.is_end(before) && usize::from(before) < old.len() {
        let (was, is) = (old.around(before), new.around(after));
        // The rewriter may have widened a jump, for example `ifeq` into `ifne` and `goto_w`.
        let same = was.opcode == is.opcode || was.jump_target().is_some();
        assert!(
            same,
            "the offset was inside {:?} at {before}, and is now inside {:?} at {after}",
            was.opcode, is.opcode
        );
    }
}

fn lines(old: &Side<'_, '_>, new: &Side<'_, '_>, before: &Attribute<'_>, after: &Attribute<'_>) {
    let read = |it: &Attribute<'_>| -> Vec<(Bci, u16)> {
        unwrap(line_table::entries(it.reader(Structure::Named("lines"))).map(Iterator::collect))
    };
    let (before, after) = (read(before), read(after));
    assert_eq!(
        before.len(),
        after.len(),
        "the number of line entries changed"
    );
    let mut previous = None;
    for ((old_pc, old_line), (new_pc, new_line)) in before.into_iter().zip(after) {
        assert_eq!(old_line, new_line);
        match previous {
            // A second line of one instruction may point after the probe that precedes the
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
    assert_eq!(
        before.len(),
        after.len(),
        "the number of local variables changed"
    );
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
    assert!(
        before.len() <= after.len(),
        "the new code has fewer frames than the old"
    );
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
        "frames are not in the order of their offsets"
    );
    for frame in frames {
        assert!(
            side.is_start(frame.bci),
            "the frame at {} is inside an instruction",
            frame.bci
        );
    }
}

/// Checks that each frame lists the variable with the time of the method's entry: a `long` behind the method's own
/// local variables.
pub(super) fn list_the_time(new: &Side<'_, '_>, max_locals: u16) {
    let mut attributes = new.code.attributes().map(unwrap);
    // There is at most one table, because the JVM refuses a second one.
    let table = attributes.find(|it| name(new, it) == b"StackMapTable");
    for frame in table.iter().flat_map(|it| unwrap(read_frames(new, it))) {
        let slots = frame.locals.iter().map(|it| match it {
            VerificationType::Long | VerificationType::Double => 2,
            _ => 1,
        });
        let ends = slots.scan(0, |end, slots| {
            *end += slots;
            Some(*end)
        });
        let wanted = usize::from(max_locals) + 2;
        let time = ends.zip(&frame.locals).find(|(end, _)| *end == wanted);
        assert!(
            time.is_some_and(|(_, it)| *it == VerificationType::Long),
            "the frame at {} does not list the time at the entry",
            frame.bci
        );
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
    assert_eq!(
        before.info.len(),
        after.info.len(),
        "the length of the type annotations changed"
    );
    let list = unwrap(type_annotations::entries(before.reader(in_annotations)));
    let new_list = unwrap(type_annotations::entries(after.reader(in_annotations)));
    assert_eq!(
        list.len(),
        new_list.len(),
        "the number of type annotations changed"
    );
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
                    assert_eq!(
                        found, catch_type,
                        "the annotation now belongs to a handler of another type"
                    );
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
