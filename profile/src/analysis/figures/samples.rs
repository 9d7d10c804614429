//! Figures of sampled trees. Their times contain no probe costs, and each node has exactly the time
//! of its samples.
//!
//! The variance of a sum of random samples is the sum of their squares. This sum is too small if samples are few:
//! after a single sample, the true mean could as well be three. So the square of one more sample is added, once for
//! each method. The error of *n* samples is then `√(n + 1)` samples. This is the standard deviation of the mean of a
//! Poisson distribution after *n* events, if every mean was equally likely before.

use super::figure::Figure;
use crate::model::Node;

/// Returns the figures of a tree that [`sampled_tree`](crate::sampled_tree) made.
pub(super) fn figures(nodes: &[Node]) -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::with_capacity(nodes.len());
    let mut below: Vec<u64> = nodes.iter().map(own).collect();
    for (at, node) in nodes.iter().enumerate().rev() {
        if let Some(parent) = node.parent {
            below[parent as usize] = below[parent as usize].saturating_add(below[at]);
        }
    }
    for (at, node) in nodes.iter().enumerate() {
        let above = node.parent.and_then(|p| figures[p as usize].recursion);
        let is_recursive = node.all_ns > node.outermost_ns;
        let sample_ns = match node.outermost_ns {
            0 => 0.0,
            ns => node.variance / ns as f64,
        };
        figures.push(Figure {
            self_ns: own(node) as f64,
            total_ns: node.outermost_ns.max(below[at]) as f64,
            self_variance: node.ticked_variance,
            once_variance: sample_ns * sample_ns,
            total_variance: node.variance,
            estimated: node.variance > 0.0,
            recursion: above.or(is_recursive.then_some(at as u32)),
            goes_back: node.outermost_ns > below[at],
            ..Figure::default()
        });
    }
    figures
}

/// Returns the running time of samples with this node innermost.
fn own(node: &Node) -> u64 {
    node.all_ns.saturating_sub(node.child_ns)
}
