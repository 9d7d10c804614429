//! Corrected times: without the cost of the probes, never negative, and adding up.
//!
//! The corrections use `inside`, `outside` and `read` from
//! [`ProbeCosts`](crate::model::ProbeCosts). For a node `n`:
//!
//! ```text
//! self(n)   = all(n) − child(n) − inside · calls(n) − Σ over the calls c made from n of more(c)
//! total(n)  = outermost(n), less the same corrections of all calls inside it
//!
//! more(c)   = outside                                                exact
//!           = outside + 2 · read · timed(c) / calls(c) − inside      adaptive
//! ```
//!
//! `child(n)` contains `inside` once for each call of a callee. `more(c)` is the rest of a call's cost for the caller.
//! In exact mode the rest is `outside`. In adaptive mode `outside` is the cost of an untimed call. A timed call also
//! reads the clock twice, and a part of that is `inside`. `inside` is subtracted for every call: the measured time of a
//! timed call, `inside` included, stands for 1/probability calls, although the untimed ones never spent `inside`.
//!
//! **Callers of recursive calls** are not in the tree, since recursion is folded. The share
//! outermost/all of a node's calls is attributed to the parent. The other calls are spread over the
//! nodes at and below the outermost recursive node, in proportion to the time that each spent in calls
//! that went back up.
//!
//! **Calls that are only counted** from some moment on leave the cost of counting in their callers. A part of it is
//! subtracted: see `figures/counting.rs`.
//!
//! **Never negative, and adding up.** Sampling errors can make callees seem to take longer than their
//! caller. The walk goes from the roots down. If the callees of a node need more time than the node
//! has, each gets the same fraction of its need, and the node itself gets 0. The caller's time is the
//! more reliable one, because longer calls are timed more often. The sum of all self times is then
//! the sum of the roots' totals, and no callee exceeds its caller.
//!
//! **The error of the cost.** The calibration measures the cost in a loop; in a program the cost differs. Reading the
//! CPU clock takes longer than most methods, so with this clock the difference can exceed the time that is left after
//! the subtraction. So a share of the subtracted cost, `COST_ERROR`, is a standard error of the time.
//!
//! **The smallest error.** Before the walk that makes times add up, the self time that calls leave is
//! combined with the self time that ticks show: see `figures/ticks.rs`.
//!
//! **A node that was never timed** has no time of its own; its callees' time is taken from its caller's. Such a
//! node overflowed, has not returned yet, or belongs to a virtual thread under the CPU clock. Under the CPU clock
//! a node can have timed calls and one call that has not returned. The time of that call's callees was measured
//! apart from the node's own time, so the node's own time does not limit it.
//!
//! **Samples** need none of this: see `figures/samples.rs`.

mod corrections;
mod counting;
mod figure;
mod samples;
mod ticks;

pub use counting::CountingCosts;
pub use figure::Figure;

use corrections::Corrections;

use crate::model::{Clock, Header, Node, Timing};

/// Returns the figures of a tree, one for each node. All times are 0 in [`Timing::Count`].
///
/// # Panics
///
/// Panics if a node comes before its parent.
pub fn figures(nodes: &[Node], header: &Header, counting: &CountingCosts) -> Vec<Figure> {
    let mut figures = vec![Figure::default(); nodes.len()];
    if header.timing == Timing::Count {
        for (figure, node) in figures.iter_mut().zip(nodes) {
            figure.timed_calls = node.calls;
        }
        return figures;
    }
    if header.timing == Timing::Sampled {
        return samples::figures(nodes);
    }
    let back = back_ns(nodes);
    for (at, node) in nodes.iter().enumerate() {
        let recursive = node.all_ns > node.outermost_ns;
        let above = node.parent.and_then(|p| figures[p as usize].recursion);
        figures[at].recursion = above.or(recursive.then_some(at as u32));
        figures[at].untimed = node.timed == 0;
        figures[at].timed_calls = timed_calls(node, header.clock);
        let known = figures[at].timed_calls;
        let sampled = header.timing == Timing::Adaptive && 0 < node.timed && node.timed < known;
        figures[at].estimated = sampled || node.variance > 0.0;
    }
    let mut calls = Corrections::of_calls(nodes, header, counting, &back, &figures);
    ticks::settle(nodes, header, counting, &back, &mut calls, &mut figures);
    let mut own = calls.own;
    for ((own, node), figure) in own.iter_mut().zip(nodes).zip(&figures) {
        if node.timed == 0 {
            *own = 0.0;
        } else if figure.timed_calls < node.calls {
            *own = own.max(0.0);
        }
    }
    spread(nodes, &own, &mut figures);
    figures
}

/// Returns the number of a node's calls whose times are known. If the variance is 0, no sample was drawn, so the
/// untimed calls are those that have not returned yet. Under the wall clock, their time up to the snapshot is
/// known.
fn timed_calls(node: &Node, clock: Clock) -> u64 {
    let is_sure = clock == Clock::Wall || node.variance > 0.0;
    match node.timed {
        0 => 0,
        timed if !is_sure => timed.min(node.calls),
        _ => node.calls,
    }
}

/// Returns, for each node, its time in calls that went back to it or to a node above.
fn back_ns(nodes: &[Node]) -> Vec<f64> {
    let mut back: Vec<f64> = nodes.iter().map(|node| node.child_ns as f64).collect();
    for node in nodes {
        if let Some(parent) = node.parent {
            back[parent as usize] -= node.outermost_ns as f64;
        }
    }
    back
}

/// Computes the totals and the self times from `own`. No self time is negative, and their sum is the sum of the
/// roots' totals.
fn spread(nodes: &[Node], own: &[f64], figures: &mut [Figure]) {
    let mut own = own.to_vec();
    // For each node, three sums over its subtree: own times, positive own times, and uncorrected times.
    let mut below = vec![0.0; nodes.len()];
    let mut wanted = vec![0.0; nodes.len()];
    let mut raw = vec![0.0; nodes.len()];
    for (at, node) in nodes.iter().enumerate().rev() {
        figures[at].total_cost_error += figures[at].self_cost_error;
        if let Some(parent) = node.parent {
            figures[parent as usize].total_cost_error += figures[at].total_cost_error;
        }
        below[at] += own[at];
        wanted[at] += own[at].max(0.0);
        if node.timed > 0 {
            raw[at] += node.all_ns as f64 - node.child_ns as f64;
        }
        if let Some(parent) = node.parent {
            let parent = parent as usize;
            let is_limit =
                nodes[parent].timed > 0 && figures[parent].timed_calls == nodes[parent].calls;
            if node.timed == 0 && is_limit {
                own[parent] -= below[at];
            }
            below[parent] += below[at];
            wanted[parent] += below[at].max(0.0);
            raw[parent] += raw[at];
        }
    }
    // The time that each subtree gets.
    let mut given = below;
    for (at, node) in nodes.iter().enumerate() {
        given[at] = match node.parent {
            Some(parent) => {
                given[at].max(0.0) * granted(given[parent as usize], wanted[parent as usize])
            }
            None if given[at] > 0.0 => given[at],
            None => wanted[at],
        };
        figures[at].self_ns = if wanted[at] > 0.0 {
            own[at].max(0.0) * granted(given[at], wanted[at])
        } else {
            given[at]
        };
        figures[at].total_ns = given[at];
        if let Some(recursion) = figures[at].recursion {
            // While a method runs, its caller can be entered again. The time of this inner call belongs to the
            // method's total, but lies outside its subtree.
            let outside = (node.outermost_ns as f64 - raw[at]).max(0.0);
            figures[at].goes_back = outside > 0.0;
            let recursion = recursion as usize;
            let total = given[at] + outside * granted(given[recursion], raw[recursion]).min(1.0);
            let limit = node
                .parent
                .map_or(given[at], |p| figures[p as usize].total_ns);
            figures[at].total_ns = total.min(limit).max(given[at]);
        }
        let total = figures[at].total_ns;
        figures[at].timed_ns = match figures[at].timed_calls {
            0 => 0.0,
            known if known < node.calls => total.min(node.outermost_ns as f64),
            _ => total,
        };
    }
}

fn granted(given: f64, wanted: f64) -> f64 {
    if wanted > 0.0 { given / wanted } else { 0.0 }
}

#[cfg(test)]
mod tests;
