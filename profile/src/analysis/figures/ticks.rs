//! The self time with the smallest error: what calls' times leave and what ticks
//! tell, together.
//!
//! Two things are known of a node's self time.
//!
//! - **The rest.** `y(n) = all(n) − child(n)`. Where calls are drawn, `all` has an
//!   error `e(n)` of variance `v(n)`. The same error is in the caller's `child`, so
//!   that `y(n) = self(n) + e(n) − Σ e(c)` over the callees `c`. A node that is timed
//!   at every call has `e(n) = 0`: what runs below it is bounded by its own time, but
//!   its rest has the errors of all its callees.
//! - **Ticks.** About every millisecond a tick finds a method on top. The time that
//!   ticks stand for, `z(n)`, has nothing to do with which calls were drawn. Its
//!   variance is `w(n) = φ · self(n)`, as of a count: `φ` is the sum of the squares of
//!   what the ticks stand for, divided by their sum.
//!
//! Generalised least squares chooses the errors `e` that are the most likely ones:
//!
//! ```text
//! Σ e(n)² / v(n)  +  Σ (y(n) − e(n) + Σ e(c) − z(n))² / w(n)   is the least
//! ```
//!
//! No unbiased linear combination has a smaller variance (Gauss and Markov). Each term holds a node and its callees only, so that two walks through the
//! tree solve it. From the leaves up, a subtree tells its caller what `e(n)` probably
//! is, `m(n)`, and its variance `q(n)`; with `r = y − z`, `M = Σ m(c)`, `Q = Σ q(c)`:
//!
//! ```text
//! m = (r + M) · v / (v + w + Q)        q = v · (w + Q) / (v + w + Q)
//! ```
//!
//! From the roots down, where `d(n) = r + M − e(n)` is the contradiction that is left in `n`:
//!
//! ```text
//! self(n) = z + d · w / (w + Q)        e(c) = m(c) − d(n) · q(c) / (w + Q)
//! ```
//!
//! Each takes of the contradiction in proportion to its variance, and what a callee
//! gives its caller gets: the sum of self times is still the roots' total. Where
//! ticks are few, or a node's rest is certain, the rest counts; where the callees'
//! errors are large, ticks do.
//!
//! The variance of `self(n)` is that of the two combined, `w · R / (w + R)`. `R` is the
//! rest's, `Q(n) + D(n)`, and `D(n)` is what is unknown of `e(n)` without the subtree
//! below: `1/D = 1/v + 1/U`, `U(n) = w + D + Q` of the caller, less `q(n)`.
//!
//! `w` depends on the self time that is sought. It is taken from the ticks first, then from
//! the result, some rounds long; not from one node's ticks alone, since those with
//! too few by chance would seem the more certain.
//!
//! The variance that is told is larger, see [`WIDER`]. Weights that come from the data leave a bias,
//! too, of a tenth of a standard error: `SelfTimes.java` shows both.
//!
//! **Recursion.** Times of calls that went back to a node above are in `all` of that node
//! and in `child` of the one that called. What so crosses the edge between a node and its
//! caller is as uncertain as recursive calls of that recursion are on average, and adds to `v`.
//!
//! **The clock of processor time** tells no limit beyond which ticks measure a call. A rare long call
//! is drawn with its weight or not at all, and where it was not drawn nothing says that
//! the variance is larger. There a sample that contradicts its subtree's ticks has at least the variance
//! that this contradiction shows, beyond that of the ticks. A thread that waits is met on top where it waits,
//! and its ticks share processor time that it used elsewhere; such a wait is one long call, of which the
//! rest is certain.

use super::corrections::{Corrections, share};
use super::figure::Figure;
use crate::model::{Clock, Header, Node, Timing};

/// Rounds in which self times and the variances of their ticks settle.
const ROUNDS: usize = 4;

/// The variance that is told is so many times that of the formula, and has so many ticks' squares
/// in it once a method. The formula takes its weights from what it estimates, and small counts are
/// not normal: two of its own standard errors cover nine times in ten.
const WIDER: f64 = 1.5;
const SPARE: f64 = 2.0;

/// The least self time, in ticks, by which a node's ticks are weighed: one that
/// no tick met may have had that much.
const LEAST: f64 = 0.125;

/// Moves times between callers and callees in `own`, the corrected rest of each node, and
/// fills in the variances of all figures.
pub(super) fn settle(
    nodes: &[Node],
    header: &Header,
    back: &[f64],
    own: &mut [f64],
    figures: &mut [Figure],
) {
    let mut tree = Settling::new(nodes, header, back, own, figures);
    let rounds = if tree.tick > 0.0 { ROUNDS } else { 1 };
    for _ in 0..rounds {
        tree.round(nodes, own);
    }
    for (at, figure) in figures.iter_mut().enumerate() {
        if tree.linked[at] {
            own[at] = tree.own[at];
        }
        let [own, once, whole] = tree.variances(at);
        figure.self_variance = own;
        figure.once_variance = once;
        figure.total_variance = whole;
        figure.estimated |= own > 0.0;
    }
}

/// By node, with the names of the formulas.
struct Settling {
    /// `φ`; 0 if there are no ticks.
    tick: f64,
    /// Set when `y` is known, since the times of all calls are.
    linked: Vec<bool>,
    /// The caller whose `y` holds the node's error.
    caller: Vec<Option<u32>>,
    /// `z`, and `w` where there are ticks.
    ticked: Vec<f64>,
    weight: Vec<f64>,
    /// `v`, `m` and `q`.
    variance: Vec<f64>,
    message: Vec<[f64; 2]>,
    /// `M` and `Q`.
    callees: Vec<[f64; 2]>,
    /// The least that the variance of `y` can be in a recursion.
    recursive: Vec<f64>,
    /// `D` and `U`.
    outside: Vec<[f64; 2]>,
    error: Vec<f64>,
    /// The self time so far.
    own: Vec<f64>,
}

impl Settling {
    fn new(
        nodes: &[Node],
        header: &Header,
        back: &[f64],
        own: &[f64],
        figures: &[Figure],
    ) -> Settling {
        let count = nodes.len();
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
            variance: crossing(nodes, back, figures),
            message: vec![[0.0; 2]; count],
            callees: vec![[0.0; 2]; count],
            recursive: recursive(nodes, back, figures),
            outside: vec![[0.0; 2]; count],
            error: vec![0.0; count],
            own: own.to_vec(),
        };
        if tick > 0.0 {
            settling.ticked = Corrections::real(nodes, header, back, figures).own;
            settling.untimed_to_callers(nodes);
            if header.clock == Clock::Cpu {
                settling.widen(nodes, own);
            }
            settling.own.clone_from(&settling.ticked);
        }
        settling
    }

    /// Gives the ticks of nodes whose times are unknown, and of what is below, to the caller whose time they are in.
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

    /// Up and down once, with the weights of the last self times.
    fn round(&mut self, nodes: &[Node], own: &[f64]) {
        for at in 0..nodes.len() {
            self.weight[at] = self.tick * self.own[at].max(LEAST * self.tick);
            self.callees[at] = [0.0; 2];
        }
        for at in (0..nodes.len()).rev() {
            let variance = self.variance[at];
            let [mean, spread] = self.callees[at];
            let free = self.weight[at] + spread;
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
                let free = self.weight[caller] + siblings;
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
            self.ticked[at] + self.apart(at, own) * weight / (weight + callees)
        } else {
            own[at]
        };
    }

    /// `d`.
    fn apart(&self, at: usize, own: &[f64]) -> f64 {
        own[at] - self.ticked[at] + self.callees[at][0] - self.error[at]
    }

    /// Three variances: of the self time, of the part that comes once for a method, of the total.
    fn variances(&self, at: usize) -> [f64; 3] {
        let rest = self.callees[at][1] + self.outside[at][0];
        let rest = rest.max(self.recursive[at]);
        let (own, once) = if self.linked[at] && self.tick > 0.0 && rest > 0.0 {
            let combined = |weight| weight * rest / (weight + rest);
            let own = combined(self.weight[at]);
            let more = combined(self.weight[at] + SPARE * self.tick * self.tick);
            (WIDER * own, more - own)
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

/// By node the variance of `all` where others than the node itself called it back: their calls have the same
/// errors, but not in this node's rest.
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

/// `v`: the variance of what crosses the edge between each node and its caller.
fn crossing(nodes: &[Node], back: &[f64], figures: &[Figure]) -> Vec<f64> {
    let mut variances = vec![0.0; nodes.len()];
    // By outermost recursive node: variance and time of its recursive calls.
    let mut recursive = vec![[0.0; 2]; nodes.len()];
    // Time of recursive calls that crosses the edge upwards.
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
