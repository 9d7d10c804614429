//! Self times without the cost of the probes, before they are made to add up.

use super::counting::CountingCosts;
use super::figure::Figure;
use crate::model::{Header, Node, Timing};

/// The standard error of the probes' cost with the CPU clock, as a share of that cost. docs/dev/performance.md has the
/// measurement.
pub(super) const COST_ERROR: f64 = 0.1;

/// The cost of counting is at most this part of a node's own time. The calls that it stands for may be those of other
/// callers, see `counting.rs`.
const MOST_COUNTING: f64 = 0.5;

/// Returns the share of a node's time that was spent in outermost calls. This share estimates the share of outermost
/// calls among the node's calls.
pub(super) fn share(node: &Node) -> f64 {
    match node.all_ns {
        0 => 1.0,
        all => (node.outermost_ns as f64 / all as f64).min(1.0),
    }
}

/// Each node's self time without probe costs; it can be negative.
pub(super) struct Corrections {
    pub(super) own: Vec<f64>,
    /// The cost that was subtracted in each node.
    pub(super) cost: Vec<f64>,
}

impl Corrections {
    /// Corrects the times of timed calls. The measured time was extended to the calls that were not timed. So the cost
    /// `inside` is subtracted for every call, timed or not.
    pub(super) fn of_calls(
        nodes: &[Node],
        header: &Header,
        counting: &CountingCosts,
        back: &[f64],
        figures: &[Figure],
    ) -> Self {
        let rest = |node: &Node| match node.timed {
            0 => 0.0,
            _ => node.all_ns as f64 - node.child_ns as f64,
        };
        let calls = |node: &Node| if node.timed > 0 { node.calls } else { 0 };
        Self::new(nodes, header, counting, back, figures, rest, calls)
    }

    /// Corrects times that come from ticks. These times contain the cost that the probes really had, so `inside` is
    /// subtracted for timed calls only.
    pub(super) fn of_ticks(
        nodes: &[Node],
        header: &Header,
        counting: &CountingCosts,
        back: &[f64],
        figures: &[Figure],
    ) -> Self {
        let ticked = |node: &Node| node.ticked_ns as f64;
        Self::new(nodes, header, counting, back, figures, ticked, |node| {
            node.timed
        })
    }

    fn new(
        nodes: &[Node],
        header: &Header,
        counting: &CountingCosts,
        back: &[f64],
        figures: &[Figure],
        time: impl Fn(&Node) -> f64,
        calls_inside: impl Fn(&Node) -> u64,
    ) -> Self {
        let costs = header.probe;
        let [inside, outside, read] = [costs.inside_ps, costs.outside_ps, costs.clock_read_ps]
            .map(|picoseconds| picoseconds as f64 / 1000.0);
        let mut own: Vec<f64> = nodes.iter().map(time).collect();
        let mut cost = vec![0.0; nodes.len()];
        // For each outermost recursive node: the cost that recursive calls added, and the sum of `back` over the
        // nodes of the recursion.
        let mut pool = vec![(0.0, 0.0); nodes.len()];
        for (at, node) in nodes.iter().enumerate() {
            let within = inside * calls_inside(node) as f64;
            let mut added = outside * node.calls as f64;
            cost[at] += within;
            if node.timed > 0 && header.timing == Timing::Adaptive {
                added += 2.0 * read * node.timed as f64 - within;
            }
            let by_parent = share(node);
            if let Some(parent) = node.parent {
                cost[parent as usize] += added * by_parent;
            }
            if let Some(recursion) = figures[at].recursion {
                let pool = &mut pool[recursion as usize];
                pool.0 += added * (1.0 - by_parent);
                pool.1 += back[at].max(0.0);
            }
        }
        for (at, figure) in figures.iter().enumerate() {
            if let Some(recursion) = figure.recursion {
                let (added, weight) = pool[recursion as usize];
                if weight > 0.0 {
                    cost[at] += added * back[at].max(0.0) / weight;
                }
            }
        }
        let mut counted = vec![0.0; nodes.len()];
        counting.add_to(&mut counted, nodes);
        for ((own, cost), counted) in own.iter_mut().zip(&mut cost).zip(counted) {
            *own -= *cost;
            // More would be another caller's. Less than all is left, so the callees keep the times that they need.
            let counted = counted.min(own.max(0.0) * MOST_COUNTING);
            *own -= counted;
            *cost += counted;
        }
        Corrections { own, cost }
    }
}
