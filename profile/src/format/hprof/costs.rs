//! `CPU SAMPLES` and `CPU TIME (ms)`: traces by the samples that met them, or by the time that they took.

use std::collections::HashMap;
use std::iter;

use loadhook_hprof::text::{Cost, CostKind, CostsBegin, Line};

use super::ranked::ranked;
use super::traces::Traces;
use crate::analysis::figures::figures;
use crate::analysis::options::Options;
use crate::model::{Method, Node, Profile, Timing};

/// Samples or calls, and the time, of a trace without its callees.
#[derive(Clone, Copy, Default)]
struct Own {
    /// Samples or calls.
    count: u64,
    ns: f64,
}

/// The table of the profile's times; nothing if it has none.
pub(super) fn cost_lines(
    profile: &Profile,
    options: &Options<'_>,
    date: &str,
    traces: &mut Traces<'_>,
) -> Vec<Line> {
    let kind = match profile.header.timing {
        Timing::Count => return Vec::new(),
        Timing::Sampled => CostKind::Samples,
        Timing::Exact | Timing::Adaptive => CostKind::Times,
    };
    let costs = costs(profile, kind, options, traces);
    let weight = |(_, own): &(u32, Own)| match kind {
        CostKind::Samples => own.count as f64,
        CostKind::Times | CostKind::Monitors => own.ns,
    };
    let whole: f64 = costs.iter().map(weight).sum();
    let total = match kind {
        CostKind::Samples => whole as i64,
        CostKind::Times | CostKind::Monitors => (whole / 1e6).round() as i64,
    };
    let begin = CostsBegin {
        kind,
        total,
        date: date.to_owned(),
    };
    let mut lines = vec![Line::CostsBegin(begin)];
    let rows = ranked(costs, options.top, traces.detail.cutoff, weight);
    for (rank, ((trace, own), share, accumulated)) in (1..).zip(rows) {
        lines.push(Line::Cost(Cost {
            rank,
            own: share,
            accumulated,
            count: own.count.cast_signed(),
            trace: traces.serial(trace),
            name: traces.name(trace),
        }));
    }
    lines.push(Line::CostsEnd(kind));
    lines
}

/// Returns the costs of each trace without its callees, in the order of the traces.
fn costs(
    profile: &Profile,
    kind: CostKind,
    options: &Options<'_>,
    traces: &mut Traces<'_>,
) -> Vec<(u32, Own)> {
    let is_focused = |method: u32| {
        let focus = options.focus;
        focus.is_none_or(|focus| focus(&profile.methods[method as usize]))
    };
    let is_shown =
        |method: u32| kind != CostKind::Samples || is_java(&profile.methods[method as usize]);
    let mut sums: HashMap<u32, Own> = HashMap::new();
    for (index, thread) in profile.threads.iter().enumerate() {
        if options.thread.is_some_and(|wanted| !wanted(&thread.name)) {
            continue;
        }
        let nodes = &thread.nodes;
        for (node, figure) in nodes.iter().zip(figures(nodes, &profile.header)) {
            let count = match kind {
                CostKind::Samples => node.timed,
                CostKind::Times | CostKind::Monitors => node.calls,
            };
            if count == 0 || !path(nodes, node).any(&is_focused) {
                continue;
            }
            let frames = path(nodes, node).filter(|method| is_shown(*method));
            let frames = frames.map(|method| (method, None));
            let sum = sums.entry(traces.number(index, frames)).or_default();
            sum.count = sum.count.saturating_add(count);
            sum.ns += figure.self_ns;
        }
    }
    let mut sums: Vec<(u32, Own)> = sums.into_iter().collect();
    sums.sort_by_key(|(trace, _)| *trace);
    sums
}

/// Returns whether a method is one of Java. HPROF's traces had no others, so samples in native code and in
/// the JVM count for the method that called it.
fn is_java(method: &Method) -> bool {
    !method.descriptor.is_empty()
}

/// The methods from a node to its root.
fn path<'n>(nodes: &'n [Node], node: &'n Node) -> impl Iterator<Item = u32> + use<'n> {
    let above = |node: &&'n Node| node.parent.map(|parent| &nodes[parent as usize]);
    iter::successors(Some(node), above).map(|node| node.method)
}
