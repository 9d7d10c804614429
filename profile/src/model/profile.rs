//! A whole profile.

use super::allocations::Allocations;
use super::call_tree::ThreadTree;
use super::header::Header;
use super::method::Method;

/// What a run of a program cost, call by call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// How and when it was measured.
    pub header: Header,
    /// The methods that [`Node::method`](super::Node::method) points into, each once.
    pub methods: Vec<Method>,
    /// The threads, in no particular order.
    pub threads: Vec<ThreadTree>,
    /// Who allocated what, if that was asked for.
    pub allocations: Option<Allocations>,
}

impl Profile {
    /// Whether any call was counted.
    pub fn has_calls(&self) -> bool {
        self.threads.iter().any(|thread| !thread.nodes.is_empty())
    }

    /// All calls in all threads.
    pub fn calls(&self) -> u64 {
        let nodes = self.threads.iter().flat_map(|thread| &thread.nodes);
        nodes.fold(0, |sum, node| sum.saturating_add(node.calls))
    }
}
