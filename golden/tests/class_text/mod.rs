//! Prints classes as text, without the parts that snapshots omit.

use std::fmt::Write;

use loadhook_rewrite::ClassFile;
use loadhook_rewrite::text::{self, fnv_1a};

use crate::inputs::Input;

/// Maximum number of lines of a snapshot. Nobody would read a longer one.
const LONG: usize = 2_000;

pub(crate) fn full_text(bytes: &[u8]) -> String {
    let mut out = String::new();
    text::print(&ClassFile::parse(bytes).unwrap(), None, &mut out).unwrap();
    out
}

/// Returns the text of a class without the parts that snapshots omit.
pub(crate) fn readable(input: &Input, bytes: &[u8], mut text: String) -> String {
    if input.is_handmade {
        text = without_driver(&text);
    }
    if input.is_large || text.lines().count() > LONG {
        let (len, hash) = (bytes.len(), fnv_1a(bytes));
        text = format!(
            "{len} bytes, FNV-1a {hash:016x}, shortened\n{}",
            shortened(&text)
        );
    }
    let lines = text.lines().count();
    assert!(
        lines <= LONG,
        "the text of {} has {lines} lines, at most {LONG} expected",
        input.name
    );
    text
}

/// Shortens a text: omits each line that differs from the previous line only by its offset.
fn shortened(text: &str) -> String {
    const KEPT: usize = 3;
    let content = |line: &str| {
        let line = line.trim_start();
        let content = line.split_once(": ").map_or(line, |(_, content)| content);
        content.to_owned()
    };
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::new();
    for run in lines.chunk_by(|a, b| content(a) == content(b)) {
        let folded = run.len().saturating_sub(2 * KEPT);
        for (i, line) in run.iter().enumerate() {
            if folded < 2 || i < KEPT || i >= KEPT + folded {
                writeln!(out, "{line}").unwrap();
            } else if i == KEPT {
                writeln!(out, "… {folded} more").unwrap();
            }
        }
    }
    out
}

/// Returns the text of a rewritten class without the constants of `input`, which keep their
/// indexes.
pub(crate) fn without_old_pool(text: &str, input: &Input, bytes: &[u8]) -> String {
    let old = ClassFile::parse(&input.bytes).unwrap();
    let old_end = old.pool().end();
    assert!(
        bytes[10..old_end] == input.bytes[10..old_end],
        "{}",
        input.name
    );
    let index = |line: &str| {
        let (index, _) = line.trim_start().strip_prefix('#')?.split_once(" = ")?;
        index.parse::<u16>().ok()
    };
    let mut out = String::new();
    for line in text.lines() {
        match index(line) {
            Some(1) => writeln!(out, "  … #1 to #{} as they were", old.pool().count() - 1),
            Some(index) if index < old.pool().count() => Ok(()),
            _ => writeln!(out, "{line}"),
        }
        .unwrap();
    }
    out
}

/// Returns the text of a hand-made class without the bodies of synthetic methods, which only call
/// the other methods.
fn without_driver(text: &str) -> String {
    let mut out = String::new();
    let mut in_driver = false;
    for line in text.lines() {
        if !line.starts_with("    ") {
            in_driver = false;
        }
        if !in_driver {
            writeln!(out, "{line}").unwrap();
        }
        in_driver |= line.starts_with("    access_flags") && line.contains("ACC_SYNTHETIC");
    }
    out
}
