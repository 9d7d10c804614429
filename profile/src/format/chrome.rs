//! Trace events, for `chrome://tracing` and <https://ui.perfetto.dev>.

use std::io::{self, Write};

use serde_json::json;

use super::Options;
use crate::model::Profile;
use crate::view::{Step, View};

/// One complete event a node, one track a thread. The time axis is no
/// history: each callee comes once, as long as it and its callees took, the
/// longest first. Where nothing was timed, a microsecond stands for a call.
pub(super) fn write(
    profile: &Profile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let view = View::new(profile, options);
    let header = &profile.header;
    let scale = if view.counts_only() { 1.0 } else { 1e-3 };
    write!(out, r#"{{"displayTimeUnit":"ns","traceEvents":["#)?;
    write!(out, "{}", metadata("process_name", 0, &header.command))?;
    for (tree, track) in view.trees.iter().zip(1u32..) {
        write!(out, ",{}", metadata("thread_name", track, &tree.name))?;
        let mut written = Ok(());
        let mut now = 0.0;
        tree.walk(|step| {
            match step {
                Step::Enter(at) => {
                    let entry = &tree.entries[at as usize];
                    let event = json!({
                        "ph": "X",
                        "pid": 1,
                        "tid": track,
                        "name": view.names[entry.method as usize],
                        "ts": thousandth(now * scale),
                        "dur": thousandth(entry.below * scale),
                        "args": {
                            "calls": entry.calls,
                            "self_ns": entry.figure.self_ns.round() as u64,
                            "total_ns": entry.figure.total_ns.round() as u64,
                        },
                    });
                    if written.is_ok() {
                        written = write!(out, ",\n{event}");
                    }
                }
                Step::Leave(at) => now += tree.entries[at as usize].weight(view.counts_only()),
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

/// Rounded to thousandths, which are nanoseconds.
fn thousandth(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
