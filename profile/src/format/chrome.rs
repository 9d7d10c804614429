//! Trace events, for `chrome://tracing` and <https://ui.perfetto.dev>.

use std::io::{self, Write};

use serde_json::json;

use crate::analysis::options::Options;
use crate::analysis::tree::{Step, Tree};
use crate::analysis::view::View;
use crate::model::Profile;

/// Writes one complete event for each node and one track for each thread. The time axis shows no
/// history: each callee appears once, with its total time as its length, the longest first. If
/// nothing was timed, a call is a microsecond long. Trace events have no place for bytes, so
/// allocations cannot be written.
pub(super) fn write(
    profile: &Profile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let view = View::new(profile, options);
    let header = &profile.header;
    write!(out, r#"{{"displayTimeUnit":"ns","traceEvents":["#)?;
    write!(out, "{}", metadata("process_name", 0, &header.command))?;
    for (tree, track) in view.trees.iter().zip(1u32..) {
        write!(out, ",{}", metadata("thread_name", track, &tree.name))?;
        let mut written = Ok(());
        let spans = spans(tree, view.counts_only());
        tree.walk(|step| {
            if let Step::Enter(at) = step {
                let entry = &tree.entries[at as usize];
                let [start, end] = spans[at as usize];
                let event = json!({
                    "ph": "X",
                    "pid": 1,
                    "tid": track,
                    "name": view.names[entry.method as usize],
                    "ts": microseconds(start),
                    "dur": microseconds(end - start),
                    "args": {
                        view.count_title(): entry.weight.count,
                        "self_ns": entry.weight.own.round() as u64,
                        "total_ns": entry.weight.total.round() as u64,
                    },
                });
                if written.is_ok() {
                    written = write!(out, ",\n{event}");
                }
            }
            true
        });
        written?;
    }
    writeln!(out, "\n]}}")
}

fn metadata(kind: &str, track: u32, name: &str) -> serde_json::Value {
    json!({ "ph": "M", "pid": 1, "tid": track, "name": kind, "args": { "name": name } })
}

/// Returns the start and end of each entry, in whole nanoseconds. Perfetto drops events that
/// overlap, and rounding start and duration separately would make some overlap.
fn spans(tree: &Tree, counts_only: bool) -> Vec<[u64; 2]> {
    let scale = if counts_only { 1e3 } else { 1.0 };
    let mut spans = vec![[0; 2]; tree.entries.len()];
    let mut now = 0.0f64;
    tree.walk(|step| {
        match step {
            Step::Enter(at) => spans[at as usize][0] = (now * scale).round() as u64,
            Step::Leave(at) => {
                // An entry's own time follows its callees' times.
                now += tree.entries[at as usize].size(counts_only);
                spans[at as usize][1] = (now * scale).round() as u64;
            }
        }
        true
    });
    spans
}

fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}
