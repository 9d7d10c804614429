//! Calling-context trees from samples of stacks.

use std::collections::HashMap;

use super::call_tree::Node;
use super::sampling::Waiting;

/// A stack of frames, and the samples with exactly this stack.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SampledNode {
    /// Index of the stack without its innermost frame, lower than this stack's own; `None` if there is only one
    /// frame.
    pub parent: Option<u32>,
    /// The innermost frame's index into [`Profile::methods`](super::Profile::methods).
    pub method: u32,
    /// The running time that the samples stand for, in nanoseconds.
    pub self_ns: u64,
    /// The sum of the squares of the times that the samples stand for, in ns².
    pub self_squares: f64,
    /// The number of samples.
    pub samples: u64,
    /// The time for which threads waited with this stack.
    pub waiting: Waiting,
}

/// Returns the calling-context tree of sampled stacks, parents first; recursion is folded as
/// [`Node`] says.
///
/// In the tree's nodes, `calls` is 0, and `timed` is the number of samples with the method innermost. `ticked_ns`
/// and `ticked_variance` are the time of these samples and its variance. `variance` is the variance
/// of `outermost_ns`. The other times are those that timed calls would have: `all_ns` less `child_ns` is the
/// method's own running time.
///
/// # Panics
///
/// If a stack's parent does not come before it.
pub fn sampled_tree(stacks: &[SampledNode]) -> Vec<Node> {
    let mut inclusive: Vec<(u64, f64)> = Vec::with_capacity(stacks.len());
    inclusive.extend(stacks.iter().map(|s| (s.self_ns, s.self_squares)));
    for (at, stack) in stacks.iter().enumerate().rev() {
        if let Some(parent) = stack.parent {
            let (ns, squares) = inclusive[at];
            let sum = &mut inclusive[parent as usize];
            sum.0 = sum.0.saturating_add(ns);
            sum.1 += squares;
        }
    }
    let mut tree = Folding::default();
    let (first, links) = linked(stacks);
    // The stacks from a root to the current one, with their nodes.
    let mut path: Vec<(u32, u32)> = Vec::new();
    let mut next = first;
    loop {
        if let Some(at) = next {
            let stack = &stacks[at as usize];
            let caller = path.last().map(|(_, node)| *node);
            let node = tree.node(caller, stack.method);
            tree.add(node, caller, stack, inclusive[at as usize]);
            path.push((at, node));
            next = links[at as usize][0];
        } else if let Some((at, node)) = path.pop() {
            tree.entered[node as usize] -= 1;
            next = links[at as usize][1];
        } else {
            return tree.nodes;
        }
    }
}

/// Returns the first root, and for each stack its first child and its next sibling, in the order of
/// the stacks.
fn linked(stacks: &[SampledNode]) -> (Option<u32>, Vec<[Option<u32>; 2]>) {
    let mut first = None;
    let mut links = vec![[None; 2]; stacks.len()];
    for (at, stack) in stacks.iter().enumerate().rev() {
        let at = at as u32;
        let head = match stack.parent {
            Some(parent) => {
                assert!(
                    parent < at,
                    "a caller's node must come before the node of its callee"
                );
                &mut links[parent as usize][0]
            }
            None => &mut first,
        };
        let next = head.replace(at);
        links[at as usize][1] = next;
    }
    (first, links)
}

/// The tree made so far.
#[derive(Default)]
struct Folding {
    nodes: Vec<Node>,
    /// The node of each call; the key is the caller's node and the method.
    edges: HashMap<(Option<u32>, u32), u32>,
    /// The number of times that each node is on the path.
    entered: Vec<u32>,
}

impl Folding {
    /// Finds or makes the node of a method called from a node. If the method is already on the
    /// path, returns its node there.
    fn node(&mut self, caller: Option<u32>, method: u32) -> u32 {
        if let Some(node) = self.edges.get(&(caller, method)) {
            return *node;
        }
        let above = |at: &u32| self.nodes[*at as usize].parent;
        let on_path = std::iter::successors(caller, above)
            .find(|at| self.nodes[*at as usize].method == method);
        let node = on_path.unwrap_or(self.nodes.len() as u32);
        if on_path.is_none() {
            self.nodes.push(Node {
                parent: caller,
                method,
                ..Node::default()
            });
            self.entered.push(0);
        }
        self.edges.insert((caller, method), node);
        node
    }

    /// Adds the samples of a stack, and of all stacks that extend it, to a node.
    fn add(
        &mut self,
        node: u32,
        caller: Option<u32>,
        stack: &SampledNode,
        (inclusive_ns, squares): (u64, f64),
    ) {
        if let Some(caller) = caller {
            let child_ns = &mut self.nodes[caller as usize].child_ns;
            *child_ns = child_ns.saturating_add(inclusive_ns);
        }
        let sum = &mut self.nodes[node as usize];
        sum.all_ns = sum.all_ns.saturating_add(inclusive_ns);
        if self.entered[node as usize] == 0 {
            sum.outermost_ns = sum.outermost_ns.saturating_add(inclusive_ns);
            sum.variance += squares;
        }
        self.entered[node as usize] += 1;
        sum.timed = sum.timed.saturating_add(stack.samples);
        sum.ticked_ns = sum.ticked_ns.saturating_add(stack.self_ns);
        sum.ticked_variance += stack.self_squares;
        sum.waiting.add(&stack.waiting);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stack(parent: Option<u32>, method: u32, self_ns: u64) -> SampledNode {
        SampledNode {
            parent,
            method,
            self_ns,
            self_squares: (self_ns * self_ns) as f64,
            samples: u64::from(self_ns > 0),
            waiting: Waiting {
                parked_ns: 7,
                ..Waiting::default()
            },
        }
    }

    #[test]
    fn recursion_goes_back_to_its_node() {
        // a, a → b, a → b → a, a → b → a → c
        let stacks = [
            stack(None, 0, 0),
            stack(Some(0), 1, 4),
            stack(Some(1), 0, 2),
            stack(Some(2), 2, 1),
        ];
        let nodes = sampled_tree(&stacks);
        let told = nodes.iter().map(|n| {
            let times = [n.all_ns, n.outermost_ns, n.child_ns, n.ticked_ns];
            (n.parent, n.method, times, n.variance)
        });
        assert_eq!(
            told.collect::<Vec<_>>(),
            [
                (None, 0, [10, 7, 8, 2], 21.0),
                (Some(0), 1, [7, 7, 3, 4], 21.0),
                (Some(0), 2, [1, 1, 0, 1], 1.0),
            ]
        );
        let waited: Vec<u64> = nodes.iter().map(|n| n.waiting.parked_ns).collect();
        assert_eq!(waited, [14, 7, 7]);
        assert_eq!(nodes.iter().map(|n| n.timed).sum::<u64>(), 3);
    }

    #[test]
    fn deep_stacks_need_no_deep_recursion() {
        let deep = |at: u32| stack(at.checked_sub(1), at, 1);
        let nodes = sampled_tree(&(0..100_000).map(deep).collect::<Vec<_>>());
        assert_eq!(nodes.len(), 100_000);
        assert_eq!(nodes[0].outermost_ns, 100_000);
        let same = |at: u32| stack(at.checked_sub(1), 0, 1);
        let nodes = sampled_tree(&(0..100_000).map(same).collect::<Vec<_>>());
        assert_eq!((nodes.len(), nodes[0].outermost_ns), (1, 100_000));
    }

    fn any_stacks() -> impl Strategy<Value = Vec<SampledNode>> {
        let row = (any::<prop::sample::Index>(), 0u32..6, 0u64..1_000);
        prop::collection::vec(row, 1..60).prop_map(|rows| {
            let stack = |(at, (parent, method, ns)): (usize, (prop::sample::Index, u32, u64))| {
                // A stack is a root with a probability of 1 in `at + 1`.
                let parent = parent.index(at + 1).checked_sub(1).map(|p| p as u32);
                stack(parent, method, ns)
            };
            rows.into_iter().enumerate().map(stack).collect()
        })
    }

    proptest! {
        #[test]
        fn times_add_up(stacks in any_stacks()) {
            let nodes = sampled_tree(&stacks);
            let sum = |value: fn(&Node) -> u64| nodes.iter().map(value).sum::<u64>();
            let whole: u64 = stacks.iter().map(|s| s.self_ns).sum();
            prop_assert_eq!(sum(|n| n.ticked_ns), whole);
            prop_assert_eq!(sum(|n| n.all_ns - n.child_ns), whole);
            prop_assert_eq!(sum(|n| n.timed), stacks.iter().map(|s| s.samples).sum::<u64>());
            prop_assert_eq!(sum(|n| n.waiting.parked_ns), 7 * stacks.len() as u64);
            let roots = nodes.iter().filter(|n| n.parent.is_none());
            prop_assert_eq!(roots.map(|n| n.outermost_ns).sum::<u64>(), whole);
            for (at, node) in nodes.iter().enumerate() {
                prop_assert_eq!(node.all_ns - node.child_ns, node.ticked_ns);
                let above = std::iter::successors(node.parent, |p| nodes[*p as usize].parent);
                for caller in above {
                    prop_assert!((caller as usize) < at);
                    prop_assert_ne!(nodes[caller as usize].method, node.method);
                }
            }
            // A method's own time is the same in the stacks and in the tree.
            for method in 0..6 {
                let of_stacks = stacks.iter().filter(|s| s.method == method).map(|s| s.self_ns);
                let of_nodes = nodes.iter().filter(|n| n.method == method).map(|n| n.ticked_ns);
                prop_assert_eq!(of_nodes.sum::<u64>(), of_stacks.sum::<u64>());
            }
        }
    }
}
