//! What the VM says of methods and classes, asked while these are in use.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};

use loadhook_rewrite::symbol::{java_name, text};

use super::stacks::Symbol;
use crate::agent::Agent;
use crate::instrument::hidden_classes::without_address;
use crate::instrument::weak_values::Mortal;
use crate::jvm::jni::{Jni, Reference};
use crate::jvm::jvmti::{Jvmti, StackFrame};

/// A frame of code: the method, the line, and whose.
pub(super) struct Found {
    pub(super) symbol: Symbol,
    pub(super) line: Option<u32>,
    /// The number of the method's loader or, of copies that share their ids, of the
    /// first one's.
    pub(super) loader: u32,
    /// The number of its class; `None` if that stays as long as the VM.
    pub(super) class: Option<u32>,
}

/// The method and line of a frame that is on the calling thread's stack.
pub(super) fn frame(
    agent: &Agent,
    jni: Jni<'_>,
    frame: StackFrame,
    classes: &Unloadable,
) -> Option<Found> {
    let jvmti = agent.jvmti;
    let found = jni.framed(|| {
        let class = jvmti.declaring_class(frame.method).ok()?;
        let signature = jvmti.class_signature(class).ok()?;
        let (name, descriptor) = jvmti.method_name(frame.method).ok()?;
        let loader = jvmti.class_loader(class).ok()?;
        // Native methods and those compiled without have none.
        let lines = jvmti.line_numbers(frame.method).unwrap_or_default();
        let loader = agent.loaders.loader(jvmti, jni, loader);
        let internal = signature.strip_prefix(b"L");
        let internal = internal.and_then(|name| name.strip_suffix(b";"));
        let known = internal.and_then(|name| {
            let name = without_address(name);
            agent.hook.registry.known(loader.number, name)
        });
        let is_hidden = internal.is_some_and(|name| without_address(name) != name);
        let number = match loader.stays() && !is_hidden {
            true => None,
            false => Some(classes.number(jvmti, jni, class)),
        };
        let is_chosen = known.is_some();
        let (loader, class_name) = known.unwrap_or_else(|| (loader, type_name(&signature).into()));
        let symbol = Symbol {
            kind: loader.kind,
            // Copies that share their ids are known by their first loader, others by
            // where their lines are.
            code: match is_chosen {
                true => loader.number.into(),
                false => hash(&lines),
            },
            is_chosen,
            class: class_name,
            name: text(&name).into(),
            descriptor: text(&descriptor).into(),
            file: jvmti
                .source_file_name(class)
                .ok()
                .map(|file| text(&file).into()),
            line: line_at(&lines, 0),
        };
        Some(Found {
            symbol,
            line: line_at(&lines, frame.location),
            loader: loader.number,
            class: number,
        })
    });
    found.flatten()
}

fn hash(lines: &[(i64, i32)]) -> u64 {
    let mut hasher = DefaultHasher::new();
    lines.hash(&mut hasher);
    hasher.finish()
}

/// Classes that may be unloaded, by number.
#[derive(Default)]
pub(super) struct Unloadable {
    all: Mortal<u32>,
    next: AtomicU32,
}

impl Unloadable {
    fn number(&self, jvmti: Jvmti, jni: Jni<'_>, class: Reference) -> u32 {
        let next = || self.next.fetch_add(1, Ordering::Relaxed);
        self.all.get_or_make(jvmti, jni, class, next)
    }

    /// The numbers of those that are gone, each once, as far as they are looked for.
    pub(super) fn gone(&self, jni: Jni<'_>) -> Vec<u32> {
        self.all.gone(jni)
    }
}

/// The line of the code at `location`: the last that begins there or before.
fn line_at(lines: &[(i64, i32)], location: i64) -> Option<u32> {
    let before = lines.iter().filter(|(start, _)| *start <= location);
    let (_, line) = before.max_by_key(|(start, _)| *start)?;
    u32::try_from(*line).ok()
}

/// A type as Java writes it, from its descriptor: `int[][]`.
pub(super) fn type_name(descriptor: &[u8]) -> String {
    let dimensions = descriptor.iter().take_while(|byte| **byte == b'[').count();
    let element = match &descriptor[dimensions..] {
        b"B" => "byte".to_owned(),
        b"C" => "char".to_owned(),
        b"D" => "double".to_owned(),
        b"F" => "float".to_owned(),
        b"I" => "int".to_owned(),
        b"J" => "long".to_owned(),
        b"S" => "short".to_owned(),
        b"Z" => "boolean".to_owned(),
        class => {
            let class = class.strip_prefix(b"L").unwrap_or(class);
            let class = class.strip_suffix(b";").unwrap_or(class);
            java_name(without_address(class))
        }
    };
    element + &"[]".repeat(dimensions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_written_as_in_java() {
        for (descriptor, name) in [
            ("I", "int"),
            ("[[J", "long[][]"),
            ("Ljava/lang/String;", "java.lang.String"),
            ("[La/B$C;", "a.B$C[]"),
            ("La/B$$Lambda$7.0x00007f00;", "a.B$$Lambda$7"),
            ("La/B$$Lambda$7/0x00000001;", "a.B$$Lambda$7"),
            ("[La/B.0x12;", "a.B[]"),
            ("", ""),
        ] {
            assert_eq!(type_name(descriptor.as_bytes()), name, "{descriptor}");
        }
    }

    #[test]
    fn lines_hold_from_their_start_on() {
        let lines = [(0, 10), (4, 12), (9, 11)];
        for (location, line) in [(0, 10), (3, 10), (4, 12), (8, 12), (9, 11), (99, 11)] {
            assert_eq!(line_at(&lines, location), Some(line), "{location}");
        }
        assert_eq!(line_at(&lines, -1), None, "a native method");
        assert_eq!(line_at(&[], 3), None);
    }
}
