//! Threads and their calling-context trees.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::sampling::Waiting;

/// The calls of one thread, or of several threads merged, with the times of the calls.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadTree {
    /// `Thread.getName()`, or the name of a group of merged threads.
    pub name: Arc<str>,
    /// `Thread.threadId()`; `None` for merged threads.
    pub id: Option<u64>,
    /// The kind of the threads.
    pub kind: ThreadKind,
    /// Processor time of the thread from its first call on, in nanoseconds. `None` if unknown: for virtual
    /// threads, and without an agent. Also `None` under the CPU clock, because all times are processor times
    /// then.
    pub cpu_ns: Option<u64>,
    /// The calling-context tree; parents come before their children.
    pub nodes: Vec<Node>,
}

/// The kind of the threads that a tree stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThreadKind {
    /// One platform thread, alive at the snapshot.
    #[default]
    Platform,
    /// The virtual threads alive at the snapshot.
    Virtual,
    /// Threads that had ended.
    Ended,
}

/// One method in one calling context.
///
/// Recursion is folded: a call of a method that is already on the path counts at that method's node. So no method
/// has itself as an ancestor, and calls of a node can come from nodes below it. Nodes with a [`line`](Node::line)
/// are folded only if method and line are both the same.
///
/// Times are raw nanoseconds, probe costs included. A sampled call counts with the inverse of its probability.
/// With [`Timing::Sampled`](super::Timing::Sampled) the times are running times, see
/// [`sampled_tree`](super::sampled_tree). [`figures`](mod@crate::analysis::figures) corrects the times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Node {
    /// Index of the caller's node in the same tree, lower than this node's.
    pub parent: Option<u32>,
    /// Index into [`Profile::methods`](super::Profile::methods).
    pub method: u32,
    /// The line at which samples met the method. Only profiles for HPROF's files have it; `None` in
    /// all others.
    pub line: Option<u32>,
    /// The exact number of calls.
    pub calls: u64,
    /// The calls that were timed.
    pub timed: u64,
    /// Sum of the durations of all calls, also of those inside another call of this node.
    pub all_ns: u64,
    /// Duration of the calls that were not inside another call of this node.
    pub outermost_ns: u64,
    /// Duration of the calls made from this node, recursive ones included.
    pub child_ns: u64,
    /// Variance of `all_ns` as an estimate, in ns²; 0 where every call was timed.
    pub variance: f64,
    /// The node's own time by ticks, which sample the innermost method about every millisecond; 0 in all nodes of
    /// a thread without ticks.
    pub ticked_ns: u64,
    /// Variance of `ticked_ns` as an estimate, in ns².
    pub ticked_variance: f64,
    /// The time for which the thread waited with this method innermost, if waiting threads were
    /// sampled. No other time includes it.
    pub waiting: Waiting,
}

impl ThreadKind {
    /// Returns the name in files: `platform`, `virtual`, `ended`.
    pub fn as_str(self) -> &'static str {
        match self {
            ThreadKind::Platform => "platform",
            ThreadKind::Virtual => "virtual",
            ThreadKind::Ended => "ended",
        }
    }
}
