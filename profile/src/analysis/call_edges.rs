//! Callers and callees, in all calling contexts together.

use std::collections::BTreeMap;

use super::recursion::RecursiveTotal;
use super::tree::Tree;

/// The calls of one method by another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// The calling method; `None` where a thread starts.
    pub(crate) caller: Option<u32>,
    pub(crate) callee: u32,
    /// Calls or objects.
    pub(crate) count: u64,
    pub(crate) total: f64,
    /// Set when `total` is an upper bound: calls may have run inside each other.
    pub(crate) total_is_bound: bool,
    /// Set when the weight of some calls or objects is unknown.
    pub(crate) is_partial: bool,
    is_unknown: bool,
}

impl Edge {
    /// Returns `total`; `None` if no part of it is known.
    pub(crate) fn some_total(&self) -> Option<f64> {
        (!self.is_unknown || self.total > 0.0).then_some(self.total)
    }
}

type Ends = (Option<u32>, u32);

/// Returns the edges of a tree, sorted by caller and callee.
pub(crate) fn edges(tree: &Tree) -> Vec<Edge> {
    let mut edges = BTreeMap::new();
    // The totals inside recursions: the key is the outermost recursive node and the edge.
    let mut recursive: BTreeMap<(u32, Ends), RecursiveTotal> = BTreeMap::new();
    for entry in &tree.entries {
        let caller = entry.parent.map(|at| tree.entries[at as usize].method);
        let ends = (caller, entry.method);
        let edge: &mut Edge = edges.entry(ends).or_insert(Edge {
            caller,
            callee: entry.method,
            count: 0,
            total: 0.0,
            total_is_bound: false,
            is_partial: false,
            is_unknown: true,
        });
        let weight = &entry.weight;
        edge.count = edge.count.saturating_add(weight.count);
        edge.is_unknown &= weight.is_unknown;
        edge.is_partial |= weight.is_partial();
        match weight.recursion {
            Some(recursion) => recursive.entry((recursion, ends)).or_default().add(weight),
            None => edge.total += weight.total,
        }
    }
    for ((recursion, ends), total) in recursive {
        if let Some(edge) = edges.get_mut(&ends) {
            edge.total += total.within(tree, recursion).0;
            edge.total_is_bound |= total.is_bound();
        }
    }
    edges.into_values().collect()
}
