//! Totals of nodes in one recursion.

use super::tree::Tree;
use super::weight::Weight;

/// The sum of the totals of several nodes below one recursive node.
///
/// Calls at two of these nodes can run inside each other, so the sum can be too large. It is
/// never larger than the total of the recursive node.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecursiveTotal {
    nodes: u32,
    total: f64,
    known_total: f64,
    goes_back: bool,
}

impl RecursiveTotal {
    pub(crate) fn add(&mut self, weight: &Weight) {
        self.nodes += 1;
        self.total += weight.total;
        self.known_total += weight.known_total;
        self.goes_back |= weight.goes_back;
    }

    /// Returns the sum of all totals, and the sum for calls with known times. Both are at most the
    /// total of `recursion`, the recursive node in `tree`.
    pub(crate) fn within(&self, tree: &Tree, recursion: u32) -> (f64, f64) {
        let limit = tree.entries[recursion as usize].weight.total;
        (self.total.min(limit), self.known_total.min(limit))
    }

    /// Returns whether calls may have run inside each other. They may if a recursive call leads
    /// from one node to another through a node above both.
    pub(crate) fn is_bound(&self) -> bool {
        self.nodes > 1 && self.goes_back
    }
}
