//! Who calls whom, in all contexts together.

use std::collections::BTreeMap;

use crate::view::{Tree, View};

/// The calls of one method by another, in all chosen threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// `None` where a thread starts.
    pub(crate) caller: Option<u32>,
    pub(crate) callee: u32,
    pub(crate) calls: u64,
    pub(crate) total_ns: f64,
}

type Ends = (Option<u32>, u32);

/// All edges, by caller and callee.
pub(crate) fn edges(view: &View<'_>) -> Vec<Edge> {
    let mut sums: BTreeMap<Ends, (u64, f64)> = BTreeMap::new();
    for tree in &view.trees {
        add(tree, &mut sums);
    }
    let edge = |((caller, callee), (calls, total_ns))| Edge {
        caller,
        callee,
        calls,
        total_ns,
    };
    sums.into_iter().map(edge).collect()
}

/// As with methods, one edge's calls can run inside each other at two nodes
/// below a recursion, but never outside of it.
fn add(tree: &Tree, sums: &mut BTreeMap<Ends, (u64, f64)>) {
    let mut folded: BTreeMap<(u32, Ends), f64> = BTreeMap::new();
    for entry in &tree.entries {
        let caller = entry.parent.map(|at| tree.entries[at as usize].method);
        let ends = (caller, entry.method);
        let (calls, total) = sums.entry(ends).or_default();
        *calls = calls.saturating_add(entry.calls);
        match entry.figure.recursion {
            Some(recursion) => {
                *folded.entry((recursion, ends)).or_default() += entry.figure.total_ns;
            }
            None => *total += entry.figure.total_ns,
        }
    }
    for ((recursion, ends), total) in folded {
        let limit = tree.entries[recursion as usize].figure.total_ns;
        sums.entry(ends).or_default().1 += total.min(limit);
    }
}
