//! Reads the method, line and class of a stack frame from the JVM. This must happen while the frame is on a stack,
//! because the class cannot be unloaded then.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};

use loadhook_rewrite::symbol::{java_name, text};

use super::symbol::{ResolvedFrame, Symbol};
use crate::instrument::hidden_names::without_address;
use crate::instrument::instrumentation::Instrumentation;
use crate::instrument::weak_values::{JvmObjects, WeakValues};
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::{self, Jvmti};
use crate::jvm::jvmti_stacks::StackFrame;
use crate::jvm::reference::Local;
use crate::jvm::sys::JVMTI_ERROR_NATIVE_METHOD;

/// Resolves a frame that is on the stack of the calling thread. If `classes` is given and the frame's class may be
/// unloaded, the class gets a number.
pub(crate) fn frame(
    instrumentation: &Instrumentation,
    jni: Jni<'_>,
    frame: StackFrame,
    classes: Option<&UnloadableClasses>,
) -> Option<ResolvedFrame> {
    let jvmti = instrumentation.jvmti;
    let resolved = jni.framed(|jni| {
        let class = jvmti.declaring_class(jni, frame.method).ok()?;
        let signature = jvmti.class_signature(class).ok()?;
        let (name, descriptor) = jvmti.method_name(frame.method).ok()?;
        let loader = jvmti.class_loader(jni, class).ok()?;
        // This fails for native methods, and for methods that were compiled without line numbers. They have no lines.
        let lines = jvmti.line_numbers(frame.method);
        let is_native = matches!(lines, Err(jvmti::Error(JVMTI_ERROR_NATIVE_METHOD)));
        let lines = lines.unwrap_or_default();
        let own_loader = instrumentation.loaders.loader(jvmti, jni, loader);
        let internal = signature.strip_prefix(b"L");
        let internal = internal.and_then(|name| name.strip_suffix(b";"));
        let known = internal.and_then(|name| {
            let registry = &instrumentation.hook.registry;
            registry.known(own_loader.number, without_address(name))
        });
        let is_hidden = internal.is_some_and(|name| without_address(name) != name);
        let is_unloadable = is_hidden || !own_loader.stays();
        let number = classes
            .filter(|_| is_unloadable)
            .map(|classes| classes.number(jvmti, jni, class));
        let is_chosen = known.is_some();
        let (loader, class_name) =
            known.unwrap_or_else(|| (own_loader, type_name(&signature).into()));
        let symbol = Symbol {
            kind: loader.kind,
            // A chosen class shares its ids with its copies, and the loader of the first copy identifies it. Other
            // classes are told apart by the line numbers of the method.
            code: if is_chosen {
                loader.number.into()
            } else {
                hash(&lines)
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
            is_native,
        };
        Some(ResolvedFrame {
            symbol,
            line: line_at(&lines, frame.location),
            loader: loader.number,
            class: number,
        })
    });
    resolved.flatten()
}

fn hash(lines: &[(i64, i32)]) -> u64 {
    let mut hasher = DefaultHasher::new();
    lines.hash(&mut hasher);
    hasher.finish()
}

/// Classes that may be unloaded, and their numbers.
#[derive(Default)]
pub(crate) struct UnloadableClasses {
    all: WeakValues<u32>,
    next: AtomicU32,
}

impl UnloadableClasses {
    fn number(&self, jvmti: Jvmti, jni: Jni<'_>, class: Local<'_>) -> u32 {
        let next = || self.next.fetch_add(1, Ordering::Relaxed);
        // A number that is discarded is never used.
        let discard = |_| ();
        self.all
            .get_or_make(&JvmObjects { jvmti, jni }, class, next, discard)
    }

    /// Deletes the references to all classes.
    pub(crate) fn release(&self, jvmti: Jvmti, jni: Jni<'_>) {
        self.all.release(&JvmObjects { jvmti, jni });
    }

    /// Forgets unloaded classes and returns their numbers. Most calls return at once without a number, because the
    /// search is done only now and then.
    pub(crate) fn take_gone(&self, jvmti: Jvmti, jni: Jni<'_>) -> Vec<u32> {
        self.all.take_gone(&JvmObjects { jvmti, jni })
    }
}

/// Returns the line number of the code at `location`: the line that begins last at or before this offset.
pub(crate) fn line_at(lines: &[(i64, i32)], location: i64) -> Option<u32> {
    let before = lines.iter().filter(|(start, _)| *start <= location);
    let (_, line) = before.max_by_key(|(start, _)| *start)?;
    u32::try_from(*line).ok()
}

/// Converts the descriptor of a type to the name that Java code uses, for example `int[][]`.
pub(crate) fn type_name(descriptor: &[u8]) -> String {
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
