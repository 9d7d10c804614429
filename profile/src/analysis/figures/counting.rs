//! The time that counting took in the callers of methods that lost their timing probes.
//!
//! The later calls of such a method are counted, and their time is in the self time of their callers. The cost of
//! counting is there, too. Counts have no callers, so the later calls are attributed as the calls before were: in
//! proportion to the calls of each node. That is wrong if a program's callers change, and for a sum of runs of which some
//! kept the probes. So a node loses at most half of its own time. The calls of a recursion are attributed to the node
//! above its outermost call. A part of a run in which a method has no timed call has no calls to attribute by, so
//! nothing is subtracted there.

use crate::model::{Node, Profile};

/// Nanoseconds of a counted call that are subtracted. This is less than all costs that were measured: real programs
/// showed 0.36 to 1.2, and a loop cannot tell which it is (docs/dev/performance.md).
const COUNT_NS: f64 = 0.3;

/// For each method, the nanoseconds of counting that one call in the trees stands for. 0 for methods that kept their
/// timing probes, and of methods that have no entry. The default is that of trees in which all methods kept them.
#[derive(Debug, Default)]
pub struct CountingCosts(pub(super) Vec<f64>);

impl CountingCosts {
    /// Returns the costs of the methods of a profile.
    pub fn of(profile: &Profile) -> CountingCosts {
        let lowered = || {
            let counted = profile.method_calls.iter();
            counted.filter(|of| of.since_ns.is_some())
        };
        if lowered().next().is_none() {
            return CountingCosts::default();
        }
        let mut costs = vec![0.0; profile.methods.len()];
        let mut in_trees = vec![0_u64; profile.methods.len()];
        for node in profile.threads.iter().flat_map(|thread| &thread.nodes) {
            let calls = &mut in_trees[node.method as usize];
            *calls = calls.saturating_add(node.calls);
        }
        for of in lowered() {
            let before = in_trees[of.method as usize];
            if before > 0 {
                costs[of.method as usize] = of.calls as f64 * COUNT_NS / before as f64;
            }
        }
        CountingCosts(costs)
    }

    /// Adds the costs to the nodes in whose self time they are: the nearest node above that kept its timing probes.
    pub(super) fn add_to(&self, cost: &mut [f64], nodes: &[Node]) {
        if self.0.is_empty() {
            return;
        }
        // For each node, the nearest one that kept its probes, at or above it.
        let mut keeper: Vec<Option<u32>> = Vec::with_capacity(nodes.len());
        for (at, node) in nodes.iter().enumerate() {
            let above = node.parent.and_then(|parent| keeper[parent as usize]);
            let counting = self.0.get(node.method as usize).copied().unwrap_or(0.0);
            if counting > 0.0 {
                if let Some(above) = above {
                    cost[above as usize] += counting * node.calls as f64;
                }
                keeper.push(above);
            } else {
                keeper.push(Some(at as u32));
            }
        }
    }
}
