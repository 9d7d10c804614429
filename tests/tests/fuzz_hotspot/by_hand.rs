//! Changes of classes that are made on purpose, not at random: oddities that HotSpot accepts, and
//! faults that the tests must notice.

use loadhook_testclasses::mutate::class::{Attribute, Class, Info, Member};
use loadhook_testclasses::mutate::instructions::starts;

/// A change, with its name for messages.
pub(crate) type Change = (&'static str, fn(&mut Class));

/// Oddities that HotSpot accepts and that random mutations rarely produce. Each oddity is applied
/// to a class wherever this is possible.
pub(crate) const ODDITIES: &[Change] = &[
    ("a line begins inside each instruction", |class| {
        let Some(name) = class
            .constants(1)
            .into_iter()
            .find(|&it| class.utf8(it) == b"LineNumberTable")
        else {
            return;
        };
        for code in class.methods.iter_mut().filter_map(Member::code_mut) {
            let starts = starts(&code.bytes).unwrap_or_default();
            let mut entries = Vec::new();
            for (number, &at) in starts.iter().enumerate() {
                entries.push([at, 2 * number + 1]);
                if at + 1 < code.bytes.len() && !starts.contains(&(at + 1)) {
                    entries.push([at + 1, 2 * number + 2]);
                }
            }
            let mut info = (entries.len() as u16).to_be_bytes().to_vec();
            info.extend(
                entries
                    .as_flattened()
                    .iter()
                    .flat_map(|&it| (it as u16).to_be_bytes()),
            );
            code.attributes.retain(|it| it.name != name);
            code.attributes.push(Attribute {
                name,
                info: Info::Bytes(info),
            });
        }
    }),
    ("switches are padded with ones", |class| {
        for code in class.methods.iter_mut().filter_map(Member::code_mut) {
            for at in starts(&code.bytes).unwrap_or_default() {
                if matches!(code.bytes[at], 0xaa | 0xab) {
                    code.bytes[at + 1..(at + 4) & !3].fill(1);
                }
            }
        }
    }),
    ("two lines begin at each place", |class| {
        for bytes in line_tables(class) {
            let mut entries = Vec::new();
            for entry in bytes[2..].chunks(4) {
                entries.push([entry[0], entry[1], entry[2], entry[3]]);
                entries.push([entry[0], entry[1], entry[2] + 4, entry[3]]);
            }
            *bytes = (entries.len() as u16).to_be_bytes().to_vec();
            bytes.extend_from_slice(entries.as_flattened());
        }
    }),
    ("lines from last to first", |class| {
        for bytes in line_tables(class) {
            bytes[2..].reverse();
            bytes[2..].chunks_mut(4).for_each(<[u8]>::reverse);
        }
    }),
    ("every method is synchronized", |class| {
        for method in class.with_code() {
            let is_special = class.utf8(class.methods[method].name).starts_with(b"<");
            class.methods[method].access |= if is_special { 0 } else { 0x20 };
        }
    }),
];

/// Faults that the rewriter could have. The test puts them into the rewriter's output, to check
/// that the comparison notices them.
pub(crate) const SABOTAGE: &[Change] = &[
    ("no handler", |class| {
        for code in class.methods.iter_mut().filter_map(Member::code_mut) {
            code.handlers.pop();
        }
    }),
    ("no exit probes", |class| replace_calls(class, b"exit")),
    ("no entry probes", |class| replace_calls(class, b"enter")),
    ("other lines", |class| {
        for bytes in line_tables(class) {
            (5..bytes.len()).step_by(4).for_each(|at| bytes[at] ^= 1);
        }
    }),
    ("less stack", |class| {
        for code in class.methods.iter_mut().filter_map(Member::code_mut) {
            code.max_stack = code.max_stack.saturating_sub(1);
        }
    }),
];

/// Returns the bytes of all `LineNumberTable`s: a count, then 4 bytes for each entry.
fn line_tables(class: &mut Class) -> impl Iterator<Item = &mut Vec<u8>> {
    let mut names = class.constants(1);
    names.retain(|&name| class.utf8(name) == b"LineNumberTable");
    let codes = class.methods.iter_mut().filter_map(Member::code_mut);
    let attributes = codes.flat_map(|code| &mut code.attributes);
    attributes.filter_map(move |attribute| match &mut attribute.info {
        Info::Bytes(bytes) if names.contains(&attribute.name) => Some(bytes),
        _ => None,
    })
}

/// Replaces calls of the tracker's method `name` by `pop` and `nop`s.
fn replace_calls(class: &mut Class, name: &[u8]) {
    let of = |class: &Class, index: u16| {
        let member = &class.pool[usize::from(index)];
        let name_and_type = &class.pool[usize::from(member.index(1))];
        let owner = &class.pool[usize::from(member.index(0))];
        class.utf8(owner.index(0)) == b"loadhook/Tracker"
            && class.utf8(name_and_type.index(0)) == name
    };
    let calls: Vec<u16> = class
        .constants(10)
        .into_iter()
        .filter(|&it| of(class, it))
        .collect();
    for code in class.methods.iter_mut().filter_map(Member::code_mut) {
        for at in starts(&code.bytes).unwrap_or_default() {
            if code.bytes[at] == 0xb8
                && calls.contains(&u16::from_be_bytes([
                    code.bytes[at + 1],
                    code.bytes[at + 2],
                ]))
            {
                code.bytes[at..at + 3].copy_from_slice(&[0x57, 0, 0]);
            }
        }
    }
}
