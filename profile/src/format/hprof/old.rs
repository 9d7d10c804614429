//! The output of `cpu=old`, in the form that `java -prof` of JDK 1.1 wrote: how often each method
//! called each other method, and how long the calls took.

use std::collections::HashMap;
use std::io::{self, Write};

use loadhook_hprof::text::{OLD_HEADER, OldCall, UNKNOWN_CALLER};

use crate::analysis::figures::{CountingCosts, figures};
use crate::model::{Method, Profile};

/// The calls of one method by another, and the time of these calls, callees included.
#[derive(Clone, Copy, Default)]
struct Edge {
    calls: u64,
    ns: f64,
}

/// Writes one line for each pair of callee and caller, the pair with the longest time first. Times
/// are in milliseconds.
///
/// # Errors
///
/// Fails if `out` cannot be written.
pub fn write_old(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let mut edges: HashMap<(u32, Option<u32>), Edge> = HashMap::new();
    let counting = CountingCosts::of(profile);
    for thread in &profile.threads {
        let nodes = &thread.nodes;
        for (node, figure) in nodes.iter().zip(figures(nodes, &profile.header, &counting)) {
            let caller = node.parent.map(|parent| nodes[parent as usize].method);
            let edge = edges.entry((node.method, caller)).or_default();
            edge.calls = edge.calls.saturating_add(node.calls);
            edge.ns += figure.total_ns;
        }
    }
    let mut edges: Vec<_> = edges
        .into_iter()
        .filter(|(_, edge)| edge.calls > 0)
        .collect();
    edges.sort_by(|(a, one), (b, other)| other.ns.total_cmp(&one.ns).then(a.cmp(b)));
    writeln!(out, "{OLD_HEADER}")?;
    for ((callee, caller), edge) in edges {
        let row = OldCall {
            count: edge.calls,
            callee: name(&profile.methods[callee as usize]),
            caller: match caller {
                Some(caller) => name(&profile.methods[caller as usize]),
                None => UNKNOWN_CALLER.to_owned(),
            },
            ms: (edge.ns / 1e6).round() as u64,
        };
        writeln!(out, "{row}")?;
    }
    out.flush()
}

fn name(method: &Method) -> String {
    format!("{}.{}{}", method.class, method.name, method.descriptor)
}
