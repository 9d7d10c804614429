//! Looks up lines of methods.

use std::sync::Arc;

use loadhook_jvm::jvmti::MethodKey;

use super::code_facts::Facts;
use super::layer;
use crate::abi::Int;

/// `lineno` of a frame in a native method.
const NATIVE: Int = -3;
/// `lineno` of a frame whose line is not known.
const UNKNOWN: Int = -1;

type Table = Arc<[(i64, i32)]>;

/// The line tables of methods.
static TABLES: Facts<Table> = Facts::new();

/// Returns the line table of a method, sorted by offset; empty if there is none.
fn table(method: MethodKey) -> Table {
    let read = || {
        let mut lines = layer::jvmti()?.line_numbers(method).unwrap_or_default();
        lines.sort_unstable();
        Some(lines.into())
    };
    TABLES.get(method, read).unwrap_or_default()
}

/// Returns the line of an offset in a method.
pub(super) fn line(method: MethodKey, location: i64) -> Int {
    if location < 0 {
        return NATIVE;
    }
    let table = table(method);
    let after = table.partition_point(|(start, _)| *start <= location);
    match after.checked_sub(1).and_then(|place| table.get(place)) {
        Some((_, line)) => *line,
        None => UNKNOWN,
    }
}

/// Returns the lines of the first and the last instruction of a method; −1 for unknown ones.
pub(super) fn range(method: MethodKey) -> (Int, Int) {
    let lines = match layer::jvmti() {
        Some(jvmti) => jvmti.line_numbers(method).unwrap_or_default(),
        None => Vec::new(),
    };
    let first = lines.iter().min_by_key(|(start, _)| *start);
    let last = lines.iter().max_by_key(|(start, _)| *start);
    match (first, last) {
        (Some(first), Some(last)) => (first.1, last.1),
        _ => (-1, -1),
    }
}
