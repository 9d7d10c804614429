//! Owners of times. An owner is a thread, or several threads together, with times at the nodes of the tree.

use std::collections::HashMap;
use std::sync::Arc;

use loadhook_profile::{ThreadKind, Waiting};

/// The number of an owner of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct OwnerNumber(pub(super) u32);

/// The owner for all virtual threads together.
pub(super) const VIRTUAL: OwnerNumber = OwnerNumber(0);

/// The reason why a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Monitor,
    Parked,
    Sleeping,
    Io,
    Other,
}

/// The times of an owner at a node. All except `waiting` are running times.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    /// Number of samples in which the node is innermost.
    pub(super) samples: u64,
    /// Time of the samples in which the node is innermost, in nanoseconds.
    pub(super) self_ns: u64,
    /// Sum of the squares of the weights in `self_ns`.
    pub(super) self_squares: f64,
    /// Time of the samples in which the node is on the stack, counted once for each frame at the node.
    pub(super) all_ns: u64,
    /// Time of the samples in which the node is on the stack, counted once for each sample.
    pub(super) outermost_ns: u64,
    /// Time of the calls from the node, including recursive calls.
    pub(super) child_ns: u64,
    /// Sum of the squares of the weights in `outermost_ns`.
    pub(super) squares: f64,
    /// Waiting time with the node innermost, by the reason.
    pub(super) waiting: Waiting,
}

impl Cost {
    pub(super) fn add(&mut self, other: &Cost) {
        self.samples += other.samples;
        self.self_ns += other.self_ns;
        self.self_squares += other.self_squares;
        self.all_ns += other.all_ns;
        self.outermost_ns += other.outermost_ns;
        self.child_ns += other.child_ns;
        self.squares += other.squares;
        self.waiting.add(&other.waiting);
    }
}

/// The owner of times: a thread, or several threads.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    pub(super) name: Arc<str>,
    pub(super) id: Option<u64>,
    pub(super) kind: ThreadKind,
    /// The times by node.
    pub(super) costs: HashMap<u32, Cost>,
    /// Processor time of ended threads, minus the times of their samples. It is needed because a short-lived thread may
    /// end without a sample.
    pub(super) unsampled_ns: i64,
}

impl Owner {
    pub(super) fn new(name: Arc<str>, id: Option<u64>, kind: ThreadKind) -> Self {
        Owner {
            name,
            id,
            kind,
            costs: HashMap::new(),
            unsampled_ns: 0,
        }
    }

    /// Returns the running time in nanoseconds that samples have missed; 0 if it is so small that samples may have
    /// missed it by chance.
    pub(super) fn unsampled_ns(&self) -> u64 {
        /// By chance, samples may miss one part in `LARGE` of the running time.
        const LARGE: u64 = 10;
        let sampled: u64 = self.costs.values().map(|cost| cost.self_ns).sum();
        let unsampled = u64::try_from(self.unsampled_ns).unwrap_or(0);
        if unsampled > (sampled + unsampled) / LARGE {
            unsampled
        } else {
            0
        }
    }
}
