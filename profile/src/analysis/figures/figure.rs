//! The corrected times of one node.

#[cfg(doc)]
use crate::model::Timing;

/// A node's corrected times, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figure {
    /// Time in the method itself, at least 0.
    pub self_ns: f64,
    /// Time from entry to exit, what it called included, recursive calls not
    /// counted twice; at least `self_ns`.
    pub total_ns: f64,
    /// Variance of `self_ns` from sampling, in ns².
    pub self_variance: f64,
    /// More variance of `self_ns`, once for a method however many nodes it has: no
    /// tick met it may mean that one nearly did.
    pub once_variance: f64,
    /// Variance of `total_ns` from sampling, in ns².
    pub total_variance: f64,
    /// Set when the times were calculated from a sample of the calls.
    pub estimated: bool,
    /// The outermost recursive node at or above this one. Below it one
    /// method can run inside itself at two nodes, neither above the other; what
    /// such nodes' totals add up to is at most that node's total.
    pub recursion: Option<u32>,
    /// Set when calls made at or below this node went back to a node above it: its
    /// total holds time that was spent elsewhere in the recursion.
    pub goes_back: bool,
    /// Set when no call of the node was timed, though those of others were: `self_ns` is
    /// unknown and reads 0, `total_ns` is the known time of its callees.
    pub untimed: bool,
    /// The calls whose times are known: all calls if the times are estimates, and with
    /// [`Timing::Count`].
    pub timed_calls: u64,
    /// The part of `total_ns` that they took.
    pub timed_ns: f64,
}
