//! What the VM says of methods and classes, asked while these are in use.

use loadhook_rewrite::symbol::{java_name, text};

use super::stacks::Symbol;
use crate::agent::Agent;
use crate::ffi::jni::Jni;
use crate::ffi::jvmti::StackFrame;
use crate::hidden::without_address;

/// The method and line of a frame that is on the calling thread's stack.
pub(super) fn frame(
    agent: &Agent,
    jni: Jni<'_>,
    frame: StackFrame,
) -> Option<(Symbol, Option<u32>)> {
    let jvmti = agent.jvmti;
    let symbol = jni.framed(|| {
        let class = jvmti.declaring_class(frame.method).ok()?;
        let signature = jvmti.class_signature(class).ok()?;
        let (name, descriptor) = jvmti.method_name(frame.method).ok()?;
        let loader = jvmti.class_loader(class).ok()?;
        // Native methods and those compiled without have none.
        let lines = jvmti.line_numbers(frame.method).unwrap_or_default();
        let loader = agent.loaders.number(jvmti, jni, loader);
        let internal = signature.strip_prefix(b"L");
        let internal = internal.and_then(|name| name.strip_suffix(b";"));
        let symbol = Symbol {
            loader,
            is_chosen: internal
                .is_some_and(|name| agent.hook.has_chosen(loader, without_address(name))),
            class: type_name(&signature).into(),
            name: text(&name).into(),
            descriptor: text(&descriptor).into(),
            file: jvmti
                .source_file_name(class)
                .ok()
                .map(|file| text(&file).into()),
            line: line_at(&lines, 0),
        };
        Some((symbol, line_at(&lines, frame.location)))
    });
    symbol.flatten()
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
