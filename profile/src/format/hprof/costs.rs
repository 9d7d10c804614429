//! The costs of traces: the samples that met them, or the time that they took.

use std::collections::HashMap;
use std::iter;

use loadhook_hprof::text::CostKind;

use super::ranked::{Ranked, ranked};
use super::traces::{Place, Traces};
use crate::analysis::figures::{CountingCosts, figures};
use crate::analysis::options::Options;
use crate::model::{Method, Node, Profile, Timing};

/// The costs of traces, the largest first.
pub(super) struct Costs<'p> {
    pub(super) kind: CostKind,
    /// The samples or nanoseconds of all traces, including traces without a row.
    pub(super) total: f64,
    pub(super) rows: Vec<Ranked<Cost<'p>>>,
}

/// The costs of a trace without its callees.
#[derive(Clone, Copy)]
pub(super) struct Cost<'p> {
    /// Serial number of the trace.
    pub(super) trace: u32,
    /// The class of the monitors or locks that threads waited for at this trace; `None` for samples
    /// and calls.
    pub(super) class: Option<&'p str>,
    /// Samples, calls, or the number of times that a thread waited.
    pub(super) count: u64,
    pub(super) ns: f64,
}

/// Returns the costs of the profile's traces; `None` if the profile has no times.
pub(super) fn costs(
    profile: &Profile,
    options: &Options<'_>,
    traces: &mut Traces<'_>,
) -> Option<Costs<'static>> {
    let kind = match profile.header.timing {
        Timing::Count => return None,
        Timing::Sampled => CostKind::Samples,
        Timing::Exact | Timing::Adaptive => CostKind::Times,
    };
    let costs = unranked(profile, kind, options, traces);
    let weight = |cost: &Cost<'_>| match kind {
        CostKind::Samples => cost.count as f64,
        CostKind::Times | CostKind::Monitors | CostKind::Parks => cost.ns,
    };
    let total = costs.iter().map(weight).sum();
    let mut rows = ranked(costs, options.top, traces.detail.cutoff, weight);
    for row in &mut rows {
        row.of.trace = traces.serial(row.of.trace);
    }
    Some(Costs { kind, total, rows })
}

/// Returns the costs of each trace, in the order of the traces' numbers.
fn unranked(
    profile: &Profile,
    kind: CostKind,
    options: &Options<'_>,
    traces: &mut Traces<'_>,
) -> Vec<Cost<'static>> {
    let is_focused = |method: u32| {
        let focus = options.focus;
        focus.is_none_or(|focus| focus(&profile.methods[method as usize]))
    };
    let is_shown =
        |method: u32| kind != CostKind::Samples || is_java(&profile.methods[method as usize]);
    let mut sums: HashMap<u32, Cost<'static>> = HashMap::new();
    let counting = CountingCosts::of(profile);
    for (index, thread) in profile.threads.iter().enumerate() {
        if options.thread.is_some_and(|wanted| !wanted(&thread.name)) {
            continue;
        }
        let nodes = &thread.nodes;
        for (node, figure) in nodes.iter().zip(figures(nodes, &profile.header, &counting)) {
            let count = match kind {
                CostKind::Samples => node.timed,
                CostKind::Times | CostKind::Monitors | CostKind::Parks => node.calls,
            };
            if count == 0 || !path(nodes, node).any(|node| is_focused(node.method)) {
                continue;
            }
            let frames = path(nodes, node).filter(|node| is_shown(node.method));
            let frames = frames.map(|node| place(profile, kind, node));
            let trace = traces.number(index, frames);
            let nothing = Cost {
                trace,
                class: None,
                count: 0,
                ns: 0.0,
            };
            let sum = sums.entry(trace).or_insert(nothing);
            sum.count = sum.count.saturating_add(count);
            sum.ns += figure.self_ns;
        }
    }
    let mut sums: Vec<Cost<'_>> = sums.into_values().collect();
    sums.sort_by_key(|cost| cost.trace);
    sums
}

/// Returns whether a method is a Java method. HPROF's traces have no other frames, so a sample in
/// native code or in the JVM counts for the Java method that called it.
fn is_java(method: &Method) -> bool {
    !method.descriptor.is_empty()
}

/// Returns the method of a node and a line. With samples, it is the line that the samples met. With calls, it is
/// the line at which the method's code begins, because probes do not know the line of a call.
fn place(profile: &Profile, kind: CostKind, node: &Node) -> Place {
    let line = match kind {
        CostKind::Samples => node.line,
        CostKind::Times | CostKind::Monitors | CostKind::Parks => {
            profile.methods[node.method as usize].line
        }
    };
    (node.method, line)
}

/// Returns the nodes from a node to its root.
fn path<'n>(nodes: &'n [Node], node: &'n Node) -> impl Iterator<Item = &'n Node> + use<'n> {
    let above = |node: &&'n Node| node.parent.map(|parent| &nodes[parent as usize]);
    iter::successors(Some(node), above)
}
