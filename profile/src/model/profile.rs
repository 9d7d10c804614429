//! A whole profile.

use super::allocations::Allocations;
use super::call_tree::ThreadTree;
use super::gc_pauses::GcPauses;
use super::header::Header;
use super::jit::JitCode;
use super::latency::LatencyRange;
use super::locks::Locks;
use super::method::Method;
use super::sampling::{MethodCalls, Sampling};

/// A run of a program, with its calls, their times, and its allocations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The circumstances of the measurement: command, clock, start.
    pub header: Header,
    /// The methods that [`Node::method`](super::Node::method) points into, each once.
    pub methods: Vec<Method>,
    /// The threads, in no particular order.
    pub threads: Vec<ThreadTree>,
    /// Calls that were counted without their callers; each method occurs at most once. These calls
    /// are in no tree, so a method's calls are the sum of these and of its nodes' calls.
    pub method_calls: Vec<MethodCalls>,
    /// The timed calls by ranges of durations, sorted by method and range; each range of a method occurs at most once.
    /// The trees contain these calls, too. In adaptive timing, most methods have only a part of their calls here.
    pub latencies: Vec<LatencyRange>,
    /// The circumstances of samples, if threads were sampled.
    pub sampling: Option<Sampling>,
    /// The allocations, if they were recorded.
    pub allocations: Option<Allocations>,
    /// The pauses of the garbage collector, if they were recorded. No two have the same cause and collector.
    pub gc_pauses: Option<Vec<GcPauses>>,
    /// The work of the JIT compiler, if it was recorded.
    pub jit: Option<JitCode>,
    /// The waits of threads for each other, if they were recorded.
    pub locks: Option<Locks>,
}

impl Profile {
    /// Returns whether there are calls or samples.
    pub fn has_calls(&self) -> bool {
        !self.method_calls.is_empty() || self.threads.iter().any(|thread| !thread.nodes.is_empty())
    }

    /// Returns the number of all calls in all threads.
    pub fn calls(&self) -> u64 {
        let nodes = self.threads.iter().flat_map(|thread| &thread.nodes);
        let of_nodes = nodes.map(|node| node.calls);
        let of_methods = self.method_calls.iter().map(|counted| counted.calls);
        of_nodes
            .chain(of_methods)
            .fold(0, |sum, calls| sum.saturating_add(calls))
    }
}
