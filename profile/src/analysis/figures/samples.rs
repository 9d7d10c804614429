//! Figures of sampled trees. No probe is in their times, and each node has exactly the time of its samples.
//!
//! A sum of samples that come at random has the sum of their squares as its variance. That is too small where
//! samples are few: after one sample alone the mean could as well be three. So one sample's square more is told,
//! once for a method. It makes the error of *n* samples `√(n + 1)` of them, the standard deviation of the mean of
//! a Poisson distribution that gave *n* events if any mean was as likely before.

use super::figure::Figure;
use crate::model::Node;

/// The figures of a tree that [`sampled_tree`](crate::sampled_tree) made.
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

/// Running time with the node innermost.
fn own(node: &Node) -> u64 {
    node.all_ns.saturating_sub(node.child_ns)
}
