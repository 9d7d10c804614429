//! The self time with the smallest error, from the times of calls and from ticks together.
//!
//! Two things are known about a node's self time.
//!
//! - **The rest.** `y(n) = all(n) − child(n)`. If only a sample of the calls is timed, `all` has an
//!   error `e(n)` of variance `v(n)`. The caller's `child` has the same error, so
//!   `y(n) = self(n) + e(n) − Σ e(c)` over the callees `c`. A node that is timed at every call has
//!   `e(n) = 0`: its own time limits its callees' times, but its rest has the errors of all callees.
//! - **Ticks.** About every millisecond a tick finds a method on top of the stack. `z(n)` is the time
//!   that the ticks stand for. It does not depend on which calls were timed. Its variance is that of
//!   a count, `w(n) = φ · self(n)`. `φ` is the sum of the squares of the times that the ticks stand
//!   for, divided by the sum of these times.
//!
//! Generalised least squares chooses the most likely errors `e`:
//!
//! ```text
//! Σ e(n)² / v(n)  +  Σ (y(n) − e(n) + Σ e(c) − z(n))² / w(n)   is the least
//! ```
//!
//! No unbiased linear combination has a smaller variance (Gauss and Markov). Each term holds a node and
//! its callees only, so two walks through the tree solve the problem. The first walk goes from the leaves
//! up. It gives each caller the probable value of `e(n)`, `m(n)`, and the variance `q(n)` of that value.
//! With `r = y − z`, `M = Σ m(c)`, `Q = Σ q(c)`:
//!
//! ```text
//! m = (r + M) · v / (v + w + Q)        q = v · (w + Q) / (v + w + Q)
//! ```
//!
//! The second walk goes from the roots down. `d(n) = r + M − e(n)` is the contradiction left in `n`:
//!
//! ```text
//! self(n) = z + d · w / (w + Q)        e(c) = m(c) − d(n) · q(c) / (w + Q)
//! ```
//!
//! The contradiction is divided between the node and its callees in proportion to their variances. The
//! time that a callee loses goes to its caller, so the sum of self times stays the roots' total.
//! The rest decides where ticks are few or the rest is certain. Ticks decide where the callees'
//! errors are large.
//!
//! The variance of `self(n)` is that of both sources combined, `w · R / (w + R)`. `R = Q(n) + D(n)` is
//! the variance of the rest. `D(n)` is the variance of `e(n)` without the subtree below:
//! `1/D = 1/v + 1/U`, with `U(n) = w + D + Q` of the caller, less `q(n)`.
//!
//! `w` depends on the self time, which is the unknown. The first `w` comes from the ticks, each later
//! one from the previous result, for some rounds. The ticks of one node alone do not suffice: a node
//! with too few ticks by chance would seem too certain.
//!
//! The reported variance is larger, see [`WIDER`]. Weights that come from the data also cause a bias of
//! a tenth of a standard error. `SelfTimes.java` demonstrates both.
//!
//! **Recursion.** A call that goes back to a node above adds its time to that node's `all` and to its caller's
//! `child`. So time of recursive calls crosses the edge between a node and its caller. The uncertainty of this
//! time is the mean uncertainty of the recursive calls in the same recursion; it is added to `v`.
//!
//! **The CPU clock.** Under this clock, ticks never replace the sample for calls above some duration. A rare long
//! call is either drawn with its weight or missed, and if it is missed, the variance does not show it. So if a
//! sample contradicts the ticks of its subtree, its variance is at least the variance that the contradiction
//! shows, beyond that of the ticks. Ticks find a waiting thread at the place where it waits, and give this place
//! a share of the processor time that the thread used elsewhere. Such a wait is one long call, whose rest is
//! certain.
//!
//! Reading this clock also costs much, so `y` has one more error: that of the cost that was taken off. Its variance is
//! `κ(n)`. No callee or caller has the same error. So `w + κ` takes the place of `w` in all formulas but one: the
//! node's own share of `d(n)` keeps `w`.

use super::corrections::{COST_ERROR, Corrections, share};
use super::counting::CountingCosts;
use super::figure::Figure;
use crate::model::{Clock, Header, Node, Timing};

/// The number of rounds: enough for self times and the variances of their ticks
/// to converge.
const ROUNDS: usize = 4;

/// The reported variance is the formula's times `WIDER`, plus the squares of `SPARE` ticks once for
/// each method. The formula alone is too narrow, since its weights come from the estimated values
/// and small counts are not normal: two of its standard errors cover only 90 %.
const WIDER: f64 = 1.5;
const SPARE: f64 = 2.0;

/// The smallest self time, in ticks, from which the weight of a node's ticks is computed. A node
/// that no tick hit may still have run that long.
const LEAST: f64 = 0.125;

/// Moves times between callers and callees in `own`, the corrected rest of each node, and
/// fills in the variances of all figures.
pub(super) fn settle(
    nodes: &[Node],
    header: &Header,
    counting: &CountingCosts,
    back: &[f64],
    calls: &mut Corrections,
    figures: &mut [Figure],
) {
    let mut tree = Settling::new(nodes, header, counting, back, calls, figures);
    let rounds = if tree.tick > 0.0 { ROUNDS } else { 1 };
    for _ in 0..rounds {
        tree.round(nodes, &calls.own);
    }
    for (at, figure) in figures.iter_mut().enumerate() {
        if tree.linked[at] {
            calls.own[at] = tree.own[at];
        }
        figure.self_cost_error = if nodes[at].timed > 0 {
            tree.cost_error(at)
        } else {
            0.0
        };
        let [own, once, whole] = tree.variances(at);
        figure.self_variance = own;
        figure.once_variance = once;
        figure.total_variance = whole;
        figure.estimated |= own > 0.0 || figure.self_cost_error > 0.0;
    }
}

/// The state of the computation. Each vector has one value for each node; the comments name the symbols of the
/// formulas.
struct Settling {
    /// `φ`; 0 if there are no ticks.
    tick: f64,
    /// Set when `y` is known, because the times of all calls are known.
    linked: Vec<bool>,
    /// The caller in whose `y` the error of the node occurs.
    caller: Vec<Option<u32>>,
    /// `z`, and `w` where there are ticks.
    ticked: Vec<f64>,
    weight: Vec<f64>,
    /// The standard error of the cost that was taken off; its square is `κ`.
    cost: Vec<f64>,
    /// `v`, `m` and `q`.
    variance: Vec<f64>,
    message: Vec<[f64; 2]>,
    /// `M` and `Q`.
    callees: Vec<[f64; 2]>,
    /// The lower bound of the variance of `y` in a recursion.
    recursive: Vec<f64>,
    /// `D` and `U`.
    outside: Vec<[f64; 2]>,
    error: Vec<f64>,
    /// The self time after the last round.
    own: Vec<f64>,
}

impl Settling {
    fn new(
        nodes: &[Node],
        header: &Header,
        counting: &CountingCosts,
        back: &[f64],
        calls: &Corrections,
        figures: &[Figure],
    ) -> Settling {
        let count = nodes.len();
        let cost_error = match header.clock {
            Clock::Wall => 0.0,
            Clock::Cpu => COST_ERROR,
        };
        let linked: Vec<bool> = nodes
            .iter()
            .zip(figures)
            .map(|(node, figure)| node.timed > 0 && figure.timed_calls == node.calls)
            .collect();
        let caller = |node: &Node| {
            node.parent
                .filter(|p| node.timed > 0 && linked[*p as usize])
        };
        let [mut nanos, mut squares] = [0.0; 2];
        for node in nodes {
            nanos += node.ticked_ns as f64;
            squares += node.ticked_variance;
        }
        let sampled = header.timing == Timing::Adaptive && nanos > 0.0;
        let tick = if sampled { squares / nanos } else { 0.0 };
        let mut settling = Settling {
            tick,
            caller: nodes.iter().map(caller).collect(),
            linked,
            ticked: vec![0.0; count],
            weight: vec![0.0; count],
            cost: calls.cost.iter().map(|cost| cost_error * cost).collect(),
            variance: crossing(nodes, back, figures),
            message: vec![[0.0; 2]; count],
            callees: vec![[0.0; 2]; count],
            recursive: recursive(nodes, back, figures),
            outside: vec![[0.0; 2]; count],
            error: vec![0.0; count],
            own: calls.own.clone(),
        };
        if tick > 0.0 {
            settling.ticked = Corrections::of_ticks(nodes, header, counting, back, figures).own;
            settling.untimed_to_callers(nodes);
            if header.clock == Clock::Cpu {
                settling.widen(nodes, &calls.own);
            }
            settling.own.clone_from(&settling.ticked);
        }
        settling
    }

    /// Moves the ticks of each node with unknown times, and of its subtree, to the node's caller.
    /// The caller's time contains them.
    fn untimed_to_callers(&mut self, nodes: &[Node]) {
        let mut below = self.ticked.clone();
        for (at, node) in nodes.iter().enumerate().rev() {
            if let Some(parent) = node.parent {
                below[parent as usize] += below[at];
                if node.timed == 0 {
                    self.ticked[parent as usize] += below[at];
                }
            }
        }
    }

    /// Widens the variances of samples that contradict the ticks below.
    fn widen(&mut self, nodes: &[Node], own: &[f64]) {
        let mut rest = own.to_vec();
        let mut ticked = self.ticked.clone();
        for (at, node) in nodes.iter().enumerate().rev() {
            if let Some(caller) = self.caller[at] {
                rest[caller as usize] += rest[at];
                ticked[caller as usize] += ticked[at];
            }
            if 0 < node.timed && node.timed < node.calls {
                let apart = rest[at] - ticked[at];
                let shown = apart * apart - self.tick * ticked[at].max(self.tick);
                self.variance[at] = self.variance[at].max(shown);
            }
        }
    }

    /// Runs both walks once, with weights from the last self times.
    fn round(&mut self, nodes: &[Node], own: &[f64]) {
        for at in 0..nodes.len() {
            self.weight[at] = self.tick * self.own[at].max(LEAST * self.tick);
            self.callees[at] = [0.0; 2];
        }
        for at in (0..nodes.len()).rev() {
            let variance = self.variance[at];
            let [mean, spread] = self.callees[at];
            let free = self.free(at) + spread;
            self.message[at] = if self.linked[at] && self.tick > 0.0 && variance > 0.0 {
                let apart = own[at] - self.ticked[at] + mean;
                [
                    apart * variance / (variance + free),
                    variance * free / (variance + free),
                ]
            } else {
                [0.0, variance]
            };
            if let Some(caller) = self.caller[at] {
                let [mean, spread] = self.message[at];
                let callees = &mut self.callees[caller as usize];
                callees[0] += mean;
                callees[1] += spread;
            }
        }
        for at in 0..nodes.len() {
            self.down(at, own);
        }
    }

    fn down(&mut self, at: usize, own: &[f64]) {
        let [mean, spread] = self.message[at];
        let variance = self.variance[at];
        let (error, outside) = match self.caller[at] {
            Some(caller) => {
                let caller = caller as usize;
                let [_, siblings] = self.callees[caller];
                let free = self.free(caller) + siblings;
                let apart = self.apart(caller, own);
                let error = if self.tick > 0.0 {
                    mean - apart * spread / free
                } else {
                    0.0
                };
                let beyond = free + self.outside[caller][0] - spread;
                (error, beyond)
            }
            None => (mean, f64::INFINITY),
        };
        self.error[at] = error;
        self.outside[at] = if outside.is_finite() && self.tick > 0.0 && variance > 0.0 {
            [variance * outside / (variance + outside), outside]
        } else {
            [variance, f64::INFINITY]
        };
        self.own[at] = if self.linked[at] && self.tick > 0.0 {
            let weight = self.weight[at];
            let [_, callees] = self.callees[at];
            self.ticked[at] + self.apart(at, own) * weight / (self.free(at) + callees)
        } else {
            own[at]
        };
    }

    /// Computes `w + κ`.
    fn free(&self, at: usize) -> f64 {
        self.weight[at] + self.cost[at] * self.cost[at]
    }

    /// Returns the part of the self time's error that comes from the error of the cost.
    fn cost_error(&self, at: usize) -> f64 {
        let rest = self.rest(at);
        if self.linked[at] && self.tick > 0.0 {
            self.cost[at] * self.weight[at] / (self.free(at) + rest)
        } else {
            self.cost[at]
        }
    }

    /// Computes `R`, the variance of the rest without the variance of the cost.
    fn rest(&self, at: usize) -> f64 {
        let rest = self.callees[at][1] + self.outside[at][0];
        rest.max(self.recursive[at])
    }

    /// Computes `d`, the contradiction left in a node.
    fn apart(&self, at: usize, own: &[f64]) -> f64 {
        own[at] - self.ticked[at] + self.callees[at][0] - self.error[at]
    }

    /// Returns three variances: of the self time, of the part that is added once for a method, of
    /// the total.
    fn variances(&self, at: usize) -> [f64; 3] {
        let rest = self.rest(at);
        let cost = self.cost[at] * self.cost[at];
        let (own, once) = if self.linked[at] && self.tick > 0.0 && rest + cost > 0.0 {
            // The rest has the weight `share`. The part of its error that comes from the cost is added elsewhere.
            let combined = |weight: f64| {
                let share = weight / (weight + rest + cost);
                (1.0 - share).powi(2) * weight + share * share * rest
            };
            let own = combined(self.weight[at]);
            let more = combined(self.weight[at] + SPARE * self.tick * self.tick);
            (WIDER * own, (more - own).max(0.0))
        } else {
            (rest, 0.0)
        };
        let [_, spread] = self.message[at];
        let [_, beyond] = self.outside[at];
        let whole = if beyond.is_finite() && spread > 0.0 {
            spread * beyond / (spread + beyond)
        } else {
            spread
        };
        [own, once, whole]
    }
}

/// Returns the variance of `all` for each node in a recursion, but 0 for a node whose recursive calls all came from
/// the node itself. The times of the callers have the same errors, but the node's own rest does not.
fn recursive(nodes: &[Node], back: &[f64], figures: &[Figure]) -> Vec<f64> {
    let own = |((node, back), figure): ((&Node, &f64), &Figure)| {
        let again = node.all_ns as f64 - node.outermost_ns as f64;
        let is_direct = again > 0.0 && *back >= again;
        if figure.recursion.is_some() && !is_direct {
            node.variance
        } else {
            0.0
        }
    };
    nodes.iter().zip(back).zip(figures).map(own).collect()
}

/// Computes `v`: the variance of the time that crosses the edge between each node and its caller.
fn crossing(nodes: &[Node], back: &[f64], figures: &[Figure]) -> Vec<f64> {
    let mut variances = vec![0.0; nodes.len()];
    // For each outermost recursive node: variance and time of its recursive calls.
    let mut recursive = vec![[0.0; 2]; nodes.len()];
    // For each node, the time of recursive calls that crosses the edge to its caller.
    let mut upwards = vec![0.0; nodes.len()];
    for (at, node) in nodes.iter().enumerate().rev() {
        let share = share(node);
        variances[at] = node.variance * share * share;
        if let Some(top) = figures[at].recursion {
            let again = node.all_ns as f64 - node.outermost_ns as f64;
            let top = top as usize;
            recursive[top][0] += node.variance - variances[at];
            recursive[top][1] += again.max(0.0);
            upwards[at] += back[at].max(0.0) - again.max(0.0);
            if let Some(parent) = node.parent.filter(|_| top != at) {
                upwards[parent as usize] += upwards[at];
            }
        }
    }
    for (at, figure) in figures.iter().enumerate() {
        if let Some(top) = figure.recursion.filter(|top| *top as usize != at) {
            let [variance, time] = recursive[top as usize];
            if time > 0.0 {
                variances[at] += variance / time * f64::max(upwards[at], 0.0);
            }
        }
    }
    variances
}
