//! A whole profile.

use super::allocations::Allocations;
use super::call_tree::ThreadTree;
use super::header::Header;
use super::method::Method;

/// A run of a program, with the time of its calls and what it allocated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The circumstances of the measurement: command, clock, start.
    pub header: Header,
    /// The methods that [`Node::method`](super::Node::method) points into, each once.
    pub methods: Vec<Method>,
    /// The threads, in no particular order.
    pub threads: Vec<ThreadTree>,
    /// The allocations, if they were recorded.
    pub allocations: Option<Allocations>,
}

impl Profile {
    /// Returns whether any call was counted.
    pub fn has_calls(&self) -> bool {
        self.threads.iter().any(|thread| !thread.nodes.is_empty())
    }

    /// All calls in all threads.
    pub fn calls(&self) -> u64 {
        let nodes = self.threads.iter().flat_map(|thread| &thread.nodes);
        nodes.fold(0, |sum, node| sum.saturating_add(node.calls))
    }
}
