//! Finds statements of a file that contradict each other.

use std::collections::BTreeSet;

use super::model::{Contents, Section};
use super::warning::Warning;
use crate::text::CostKind;

/// Returns all contradictions in a file.
pub(super) fn warnings(contents: &Contents) -> Vec<Warning> {
    let mut found = Vec::new();
    let mut traces = BTreeSet::new();
    let mut threads = BTreeSet::new();
    for section in &contents.sections {
        match section {
            Section::Sites { rows, .. } => {
                traces.extend(rows.iter().map(|row| ("SITES", row.trace)));
            }
            Section::Costs { begin, rows } => {
                traces.extend(rows.iter().map(|row| (begin.kind.title(), row.trace)));
                let sum = rows
                    .iter()
                    .fold(0, |sum: i64, row| sum.saturating_add(row.count));
                if begin.kind == CostKind::Samples && sum > begin.total {
                    let total = begin.total;
                    found.push(Warning::TooManySamples { sum, total });
                }
            }
            Section::Monitors(dump) => {
                traces.extend(dump.threads.iter().map(|row| ("MONITOR DUMP", row.trace)));
                threads.extend(dump.threads.iter().map(|row| row.thread));
                for monitor in &dump.monitors {
                    threads.extend(monitor.owner.map(|owner| owner.thread));
                    threads.extend(monitor.to_enter.iter().chain(&monitor.to_be_notified));
                }
            }
            Section::Old(_) | Section::Heap(_) | Section::Summary(_) => {}
        }
    }
    for (section, trace) in traces {
        if !contents.traces.contains_key(&trace) {
            found.push(Warning::NoTrace { section, trace });
        }
    }
    // Dumps by the JVM itself have traces with the serial numbers of threads, but no records of
    // threads.
    if !contents.threads.is_empty() {
        threads.extend(contents.traces.values().filter_map(|trace| trace.thread));
    }
    // 0 stands for an unknown thread.
    threads.remove(&0);
    for thread in threads {
        if !contents.threads.contains_key(&thread) {
            found.push(Warning::NoThread { thread });
        }
    }
    found
}
