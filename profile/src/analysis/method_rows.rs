//! The rows of a table of methods: each sums up a method over all its calling contexts.

use std::collections::BTreeMap;

use super::recursion::RecursiveTotal;
use super::tree::{Entry, Step, Tree};
use crate::model::MethodCalls;

/// One method in all its calling contexts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Row {
    pub(crate) method: u32,
    /// Calls or objects. In a single tree of samples, the number of samples that
    /// met the method or its callees.
    pub(crate) count: u64,
    /// The count at nodes with known weight.
    pub(crate) known_count: u64,
    /// Set when the calls are known. Samples also meet methods whose calls are
    /// not counted.
    pub(crate) is_counted: bool,
    /// Set when the times come from samples.
    pub(crate) is_sampled: bool,
    /// Samples that met the method, callees included.
    pub(crate) samples: u64,
    /// Nanoseconds for which threads waited in the method and its callees.
    pub(crate) waiting: f64,
    /// Nanoseconds or bytes of the method itself, as far as they are known.
    pub(crate) own: f64,
    /// The same as `own`, with callees included.
    pub(crate) total: f64,
    /// The part of `total` that the calls with known times took.
    pub(crate) known_total: f64,
    own_variance: f64,
    once_variance: f64,
    total_variance: f64,
    own_cost_error: f64,
    total_cost_error: f64,
    pub(crate) is_estimated: bool,
    /// Set when `total` is an upper bound: calls may have run inside each other.
    pub(crate) total_is_bound: bool,
    /// See [`MethodCalls::since_ns`]: from this moment on, calls have no times.
    pub(crate) counted_since_ns: Option<u64>,
    /// See [`MethodCalls::until_ns`]: later calls are not counted, so `count` is a lower bound.
    pub(crate) counted_until_ns: Option<u64>,
    /// Set when calls that were counted without their callers are in `count`, as far as there are any.
    has_counted_calls: bool,
}

/// A time is mostly error if its standard error is larger than this share of the time.
const MOSTLY: f64 = 0.5;

impl Row {
    /// Returns the row of a method before anything is added to it.
    pub(crate) fn empty(method: u32, is_sampled: bool) -> Row {
        Row {
            method,
            is_sampled,
            is_counted: true,
            ..Row::default()
        }
    }

    /// Returns `own`; `None` if it is unknown.
    pub(crate) fn known_own(&self) -> Option<f64> {
        (self.known_count > 0 || self.is_sampled).then_some(self.own)
    }

    /// Returns `total`; `None` if no part of it is known.
    pub(crate) fn some_total(&self) -> Option<f64> {
        (self.known_count > 0 || self.is_sampled || self.total > 0.0).then_some(self.total)
    }

    /// Returns the mean total time of a call, over the calls with known times; `None` if no time is
    /// known, or if no sample met the method. `None` also if samples cover more calls than are counted.
    ///
    /// Recursive calls count as calls, so an outermost call of a recursive method
    /// takes longer than this mean.
    pub(crate) fn mean(&self) -> Option<f64> {
        let is_whole = !self.is_sampled || self.total > 0.0 && self.counted_until_ns.is_none();
        let is_known = self.known_count > 0 && is_whole;
        is_known.then(|| self.known_total / self.known_count as f64)
    }

    /// Returns the count; `None` if calls were not counted, or no longer when the profile began.
    pub(crate) fn known_calls(&self) -> Option<u64> {
        let has_ended = self.count == 0 && self.counted_until_ns == Some(0);
        (self.is_counted && !has_ended).then_some(self.count)
    }

    /// Moves the count to `samples`, because a tree of samples counts samples. The number of calls
    /// is then unknown.
    pub(crate) fn count_samples(&mut self) {
        self.samples = std::mem::take(&mut self.count);
        self.known_count = 0;
        self.is_counted = false;
    }

    /// Adds calls that were counted without their callers.
    pub(crate) fn add_calls(&mut self, counted: &MethodCalls) {
        self.is_counted = true;
        self.has_counted_calls = true;
        self.count = self.count.saturating_add(counted.calls);
        if self.is_sampled {
            // Samples cover all time of these calls.
            self.known_count = self.count;
            self.known_total = self.total;
        }
    }

    /// Returns whether `count` lacks the calls after the loss of the timing probes: these are known for all threads and
    /// callers together only.
    pub(crate) fn lacks_later_calls(&self) -> bool {
        self.counted_since_ns.is_some() && !self.has_counted_calls
    }

    /// Returns whether the method was called, or ran when a sample was taken.
    pub(crate) fn is_shown(&self) -> bool {
        self.count > 0 || self.is_sampled && self.total > 0.0
    }

    /// Returns whether the weight of some calls or objects is unknown.
    pub(crate) fn is_partial(&self) -> bool {
        let has_ended = !self.is_sampled && self.counted_until_ns.is_some();
        self.known_count < self.count || self.counted_since_ns.is_some() || has_ended
    }

    /// Returns the standard error of `own`.
    pub(crate) fn own_error(&self) -> f64 {
        (self.own_variance + self.once_variance)
            .sqrt()
            .hypot(self.own_cost_error)
    }

    /// Returns the lower end of the self time's interval: the estimate minus two standard errors.
    pub(crate) fn sure_own(&self) -> f64 {
        (self.own - 2.0 * self.own_error()).max(0.0)
    }

    /// Returns whether the self time is mostly error.
    pub(crate) fn is_mostly_error(&self) -> bool {
        self.is_estimated && self.own > 0.0 && self.own_error() > MOSTLY * self.own
    }

    /// Returns the standard error of `total`.
    pub(crate) fn total_error(&self) -> f64 {
        let once = if self.is_sampled {
            self.once_variance
        } else {
            0.0
        };
        (self.total_variance + once)
            .sqrt()
            .hypot(self.total_cost_error)
    }
}

/// Adds the entries of a tree to the rows of their methods; `rows` has one row for each method. An
/// entry adds nothing to the total if its method is already on the path.
pub(crate) fn add_tree(rows: &mut [Row], tree: &Tree) {
    let mut on_path = vec![0u32; rows.len()];
    let waiting = waiting_below(tree);
    // The key is the outermost recursive node and the method.
    let mut recursive: BTreeMap<(u32, u32), RecursiveTotal> = BTreeMap::new();
    tree.walk(|step| {
        let at = match step {
            Step::Enter(at) => at,
            Step::Leave(at) => {
                on_path[tree.entries[at as usize].method as usize] -= 1;
                return true;
            }
        };
        let entry = &tree.entries[at as usize];
        let (method, weight) = (entry.method, &entry.weight);
        let row = &mut rows[method as usize];
        row.count = row.count.saturating_add(weight.count);
        row.known_count = row.known_count.saturating_add(weight.known_count);
        row.own += weight.own;
        row.own_variance += weight.own_variance;
        row.once_variance = row.once_variance.max(weight.once_variance);
        row.own_cost_error += weight.own_cost_error;
        row.is_estimated |= weight.is_estimated;
        if on_path[method as usize] == 0 {
            if let Some(waiting) = &waiting {
                row.waiting += waiting[at as usize];
            }
            row.total_variance += weight.total_variance;
            row.total_cost_error += weight.total_cost_error;
            match weight.recursion {
                Some(recursion) => {
                    let total = recursive.entry((recursion, method)).or_default();
                    total.add(weight);
                }
                None => {
                    row.total += weight.total;
                    row.known_total += weight.known_total;
                }
            }
        }
        on_path[method as usize] += 1;
        true
    });
    for ((recursion, method), total) in recursive {
        let row = &mut rows[method as usize];
        let (all, known) = total.within(tree, recursion);
        row.total += all;
        row.known_total += known;
        row.total_is_bound |= total.is_bound();
    }
}

/// Returns, for each entry, the nanoseconds for which threads waited in it and its callees; `None`
/// if no thread waited.
pub(crate) fn waiting_below(tree: &Tree) -> Option<Vec<f64>> {
    let entries = &tree.entries;
    let own = |entry: &Entry| entry.weight.waiting.total_ns() as f64;
    let mut waiting: Vec<f64> = entries.iter().map(own).collect();
    if waiting.iter().all(|ns| *ns == 0.0) {
        return None;
    }
    for (at, entry) in entries.iter().enumerate().rev() {
        if let Some(parent) = entry.parent {
            waiting[parent as usize] += waiting[at];
        }
    }
    Some(waiting)
}
