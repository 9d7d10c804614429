//! The weight of a node in a tree.

use super::figures::Figure;
use crate::model::{Node, Waiting};

/// The weight of a node in a tree: nanoseconds of its calls, or bytes of its objects.
///
/// `own` is the node's part, `total` the part of the node and all below it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weight {
    /// Calls or objects, or samples that met the node or its callees.
    pub(crate) count: u64,
    /// The calls or objects whose weight is known.
    pub(crate) known_count: u64,
    /// The time for which threads waited with the node innermost; 0 without
    /// samples of waiting threads.
    pub(crate) waiting: Waiting,
    /// The weight of the node itself; 0 if it is unknown.
    pub(crate) own: f64,
    /// The known part of the weight of the node and all nodes below. If the node's own weight is unknown, `total`
    /// is the weight of the nodes below.
    pub(crate) total: f64,
    /// The part of `total` that the calls with known times took.
    pub(crate) known_total: f64,
    pub(crate) own_variance: f64,
    /// A part of the variance of `own` that is added once for a method, however many nodes it has.
    pub(crate) once_variance: f64,
    pub(crate) total_variance: f64,
    /// Standard errors of `own` and `total` that all calls share. They are added, and their sum is squared.
    pub(crate) own_cost_error: f64,
    pub(crate) total_cost_error: f64,
    /// Set when the weight was calculated from a sample.
    pub(crate) is_estimated: bool,
    /// True if the weight is unknown: no call of this node was timed although calls of others were, or no size of its
    /// objects is known.
    pub(crate) is_unknown: bool,
    /// The outermost recursive node at or above this one, as in [`Figure::recursion`].
    pub(crate) recursion: Option<u32>,
    /// The same as [`Figure::goes_back`].
    pub(crate) goes_back: bool,
}

impl Weight {
    /// Returns the weight of a node. Its count is the number of calls, or `samples`, the number of
    /// samples that met the node or its callees.
    pub(crate) fn of_calls(node: &Node, figure: &Figure, samples: Option<u64>) -> Weight {
        Weight {
            count: samples.unwrap_or(node.calls),
            waiting: node.waiting,
            known_count: samples.unwrap_or(figure.timed_calls),
            own: figure.self_ns,
            total: figure.total_ns,
            known_total: figure.timed_ns,
            own_variance: figure.self_variance,
            once_variance: figure.once_variance,
            total_variance: figure.total_variance,
            own_cost_error: figure.self_cost_error,
            total_cost_error: figure.total_cost_error,
            is_estimated: figure.estimated,
            is_unknown: figure.untimed,
            recursion: figure.recursion,
            goes_back: figure.goes_back,
        }
    }

    /// Returns the standard error of `own`.
    pub(crate) fn own_error(&self) -> f64 {
        (self.own_variance + self.once_variance)
            .sqrt()
            .hypot(self.own_cost_error)
    }

    /// Returns the standard error of `total`.
    pub(crate) fn total_error(&self) -> f64 {
        self.total_variance.sqrt().hypot(self.total_cost_error)
    }

    /// Returns `own`; `None` if it is unknown.
    pub(crate) fn known_own(&self) -> Option<f64> {
        (!self.is_unknown).then_some(self.own)
    }

    /// Returns `total`; `None` if no part of it is known.
    pub(crate) fn some_total(&self) -> Option<f64> {
        (!self.is_unknown || self.total > 0.0).then_some(self.total)
    }

    /// Returns whether the weight of some of the calls or objects is unknown; `own` and `total` are
    /// then lower bounds.
    pub(crate) fn is_partial(&self) -> bool {
        self.known_count < self.count
    }

    /// Adds the weight of the same path in another tree.
    pub(crate) fn add(&mut self, other: &Weight) {
        self.count = self.count.saturating_add(other.count);
        self.known_count = self.known_count.saturating_add(other.known_count);
        self.waiting.add(&other.waiting);
        self.own += other.own;
        self.total += other.total;
        self.own_variance += other.own_variance;
        self.once_variance = self.once_variance.max(other.once_variance);
        self.total_variance += other.total_variance;
        self.own_cost_error += other.own_cost_error;
        self.total_cost_error += other.total_cost_error;
        self.is_estimated |= other.is_estimated;
        self.is_unknown &= other.is_unknown;
    }
}
