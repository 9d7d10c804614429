//! Folded stacks, `caller;callee 1234`, for `flamegraph.pl` and similar tools.

use std::io::{self, Write};

use crate::analysis::options::Options;
use crate::analysis::tree::Step;
use crate::analysis::view::View;
use crate::model::Profile;

/// Writes one line for each node with self time, all chosen threads together. The number is in
/// nanoseconds, in bytes for allocations, or in calls if nothing was timed.
pub(super) fn write(
    profile: &Profile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let view = View::new(profile, options);
    let tree = view.overlaid();
    // A name must not contain the separator.
    let clean = |name: &String| name.replace(';', ":");
    let names: Vec<String> = view.names.iter().map(clean).collect();
    let mut stack = String::new();
    let mut starts = Vec::new();
    let mut written = Ok(());
    tree.walk(|step| {
        match step {
            Step::Enter(at) => {
                let entry = &tree.entries[at as usize];
                starts.push(stack.len());
                if !stack.is_empty() {
                    stack.push(';');
                }
                stack.push_str(&names[entry.method as usize]);
                let weight = entry.size(view.counts_only()).round();
                if weight > 0.0 && written.is_ok() {
                    written = writeln!(out, "{stack} {weight}");
                }
            }
            Step::Leave(_) => stack.truncate(starts.pop().unwrap_or(0)),
        }
        true
    });
    written
}
