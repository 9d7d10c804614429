//! Who calls whom, in all contexts together.

use std::collections::BTreeMap;

use crate::analysis::view::{Folded, Tree};

/// The calls of one method by another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// `None` where a thread starts.
    pub(crate) caller: Option<u32>,
    pub(crate) callee: u32,
    pub(crate) calls: u64,
    pub(crate) total_ns: f64,
    /// As of [`Row`](crate::analysis::view::Row).
    pub(crate) total_is_bound: bool,
    /// Times of some of the calls are unknown.
    pub(crate) partial: bool,
    untimed: bool,
}

impl Edge {
    /// `total_ns` where anything is known of it.
    pub(crate) fn whole_ns(&self) -> Option<f64> {
        (!self.untimed || self.total_ns > 0.0).then_some(self.total_ns)
    }
}

type Ends = (Option<u32>, u32);

/// A tree's edges, by caller and callee. Those of several trees add up.
pub(crate) fn edges(tree: &Tree) -> Vec<Edge> {
    let mut edges = BTreeMap::new();
    let mut folded: BTreeMap<(u32, Ends), Folded> = BTreeMap::new(); // by recursion
    for entry in &tree.entries {
        let caller = entry.parent.map(|at| tree.entries[at as usize].method);
        let ends = (caller, entry.method);
        let edge: &mut Edge = edges.entry(ends).or_insert(Edge {
            caller,
            callee: entry.method,
            calls: 0,
            total_ns: 0.0,
            total_is_bound: false,
            partial: false,
            untimed: true,
        });
        edge.calls = edge.calls.saturating_add(entry.calls);
        edge.untimed &= entry.figure.untimed;
        edge.partial |= entry.is_partial();
        match entry.figure.recursion {
            Some(recursion) => folded
                .entry((recursion, ends))
                .or_default()
                .add(&entry.figure),
            None => edge.total_ns += entry.figure.total_ns,
        }
    }
    for ((recursion, ends), folded) in folded {
        if let Some(edge) = edges.get_mut(&ends) {
            let [total, _] = folded.totals_ns(tree, recursion);
            edge.total_ns += total;
            edge.total_is_bound |= folded.is_bound();
        }
    }
    edges.into_values().collect()
}
