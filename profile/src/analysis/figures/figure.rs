//! The corrected times of one node.

#[cfg(doc)]
use crate::model::Timing;

/// A node's corrected times, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figure {
    /// Time in the method itself, at least 0.
    pub self_ns: f64,
    /// Time from entry to exit, including callees. Recursive calls are not counted twice. At least
    /// `self_ns`.
    pub total_ns: f64,
    /// Variance of `self_ns` from sampling, in ns².
    pub self_variance: f64,
    /// A part of the variance of `self_ns` that is added once for a method, however many nodes it has. This part
    /// covers the case that ticks nearly hit the method, but none did.
    pub once_variance: f64,
    /// Variance of `total_ns` from sampling, in ns².
    pub total_variance: f64,
    /// Standard error of `self_ns` from the cost of the probes, in ns. The cost is wrong for all calls alike, so these errors
    /// are added, and their sum is squared.
    pub self_cost_error: f64,
    /// Standard error of `total_ns` from the cost of the probes, in ns. It is added like `self_cost_error`.
    pub total_cost_error: f64,
    /// Set when the times were calculated from a sample of the calls, or when the cost of the probes has an error.
    pub estimated: bool,
    /// The outermost recursive node at or above this one. Below it, a method can
    /// run inside itself at two nodes of which neither is above the other. The
    /// totals of two such nodes overlap; together they are at most the total of
    /// the recursive node.
    pub recursion: Option<u32>,
    /// Set when calls made at or below this node recursed into a node above it. The total of this node then
    /// contains time that was spent elsewhere in the recursion.
    pub goes_back: bool,
    /// Set when calls of other nodes were timed, but no call of this node. `self_ns` is then unknown and has the
    /// value 0, and `total_ns` is the known time of the callees.
    pub untimed: bool,
    /// The number of calls whose times are known. It is the number of all calls if the calls that were not timed
    /// have estimated times, and under [`Timing::Count`].
    pub timed_calls: u64,
    /// The part of `total_ns` that the calls with known times took.
    pub timed_ns: f64,
}
