//! The data of the page of one profile.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::{self, Write};

use serde_json::{Value, json};

use super::lanes::{Heaviest, Lane};
use super::page::fill_profile_page;
use super::{allocations, locks};
use crate::analysis::gc_pauses::ordered;
use crate::analysis::measure::Measure;
use crate::analysis::options::Options;
use crate::analysis::view::View;
use crate::format::allocation_text::unsized_remarks;
use crate::format::gc_text::{cause, facts as gc_facts};
use crate::format::table::methods::sum_over_threads;
use crate::format::table::sampled;
use crate::model::{Header, Method, Profile};
use loadhook_text::units::Quantity;

/// The maximum number of tree nodes in a page. They take about 30 MB, which browsers can load.
const MOST_NODES: usize = 2_000_000;

/// Writes the page. If the trees have more than two million nodes, or more than [`Options::top`], only the heaviest
/// are kept, and the page says so. The page's tables of methods, callers and callees are always complete.
pub(in crate::format) fn write(
    profile: &Profile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    fill_profile_page(&page_data(profile, options), out)
}

/// Returns the data of a page: a list with an entry for each measure of the profile.
#[must_use]
pub fn page_data(profile: &Profile, options: &Options<'_>) -> Value {
    let measures: Vec<Measure> = match options.measure {
        Some(measure) => vec![measure],
        None => {
            // The page opens with the first of these measures.
            let present = [
                Measure::Time,
                Measure::Live,
                Measure::Allocated,
                Measure::Contention,
            ];
            let present = present.into_iter();
            present.filter(|measure| measure.is_in(profile)).collect()
        }
    };
    measures
        .into_iter()
        .map(|measure| weighed(profile, measure, options))
        .collect()
}

/// Returns the data of one measure.
fn weighed(profile: &Profile, measure: Measure, options: &Options<'_>) -> Value {
    let options = Options {
        measure: Some(measure),
        ..*options
    };
    let view = View::new(profile, &options);
    let mut data = data(&view, &options);
    match (measure, &profile.allocations, &profile.locks) {
        (Measure::Allocated | Measure::Live, Some(allocations), _) => {
            data["allocations"] = allocations::data(profile, allocations, &view, &options);
        }
        (Measure::Contention, _, Some(found)) => {
            data["locks"] = locks::data(profile, found, &options);
        }
        _ => {}
    }
    data
}

fn data(view: &View<'_>, options: &Options<'_>) -> Value {
    let lanes = Lane::all(view, names_nothing(options));
    let (threads, left_out) = threads(&lanes, view.counts_only(), false, options.top);
    let threads_text = if view.trees.is_empty() && !view.method_calls.is_empty() {
        String::new()
    } else {
        view.threads()
    };
    json!({
        "header": header(view),
        "counts": view.counts_only(),
        "sampled": view.is_sampled(),
        "samplingFacts": sampling_facts(view),
        "methodCalls": method_calls(view),
        "latencies": latencies(view),
        "measure": view.measure.as_str(),
        "sort": options.sort.as_str(),
        "whole": view.whole.round(),
        "leftOut": left_out,
        "unsized": unsized_remarks(view.unsized_objects()),
        "methods": methods(&view.methods, &view.names),
        "threads": threads,
        "threadsText": threads_text,
        "sums": sums(view, options),
        "gc": gc(view.profile),
    })
}

/// Returns the pauses of the garbage collector, if they were recorded: sentences, and a row for each cause and
/// collector. A row has the cause, the collector, the number of pauses, their nanoseconds, and the nanoseconds of the
/// longest pause.
fn gc(profile: &Profile) -> Option<Value> {
    let rows = ordered(profile.gc_pauses.as_deref()?).into_iter();
    let rows = rows.map(|row| {
        json!([
            cause(row),
            row.collector,
            row.pauses,
            row.total_ns,
            row.longest_ns
        ])
    });
    Some(json!({ "facts": gc_facts(profile), "rows": rows.collect::<Vec<_>>() }))
}

/// Returns whether the options choose neither threads nor methods.
pub(super) fn names_nothing(options: &Options<'_>) -> bool {
    options.thread.is_none() && options.focus.is_none()
}

/// Returns sentences that say how to read times that are summed over threads. The first list is for
/// the sum without the threads that only waited, the second one for the sum over all threads.
fn sums(view: &View<'_>, options: &Options<'_>) -> [Vec<String>; 2] {
    let told = |view: &View<'_>| match view.quantity {
        _ if !view.is_of_calls() => Vec::new(),
        Quantity::Bytes => Vec::new(),
        Quantity::Time if view.is_sampled() => sampled::times(view),
        Quantity::Time => sum_over_threads(view),
    };
    let all = told(view);
    if !view.trees.iter().any(|tree| tree.only_waited) {
        return [all.clone(), all];
    }
    let working = View::of_working_threads(view.profile, options);
    [told(&working), all]
}

/// Returns facts about the samples: their number, the mean processor time between two samples of a
/// thread, and the share of the time whose stacks are incomplete.
pub(super) fn sampling_facts(view: &View<'_>) -> Vec<String> {
    let sampling = view.profile.sampling.iter();
    sampling.flat_map(sampled::facts).collect()
}

/// A method, its counted calls, since when they were only counted, and until when.
type CountedCalls = (u32, Option<u64>, Option<u64>, Option<u64>);

/// Returns the methods whose calls were counted without their callers. Each has the number of calls, the time from
/// which on they were only counted, and the time until which they were counted. The number is missing if the options
/// leave these calls out, of a method that may have other calls in the trees.
fn method_calls(view: &View<'_>) -> Vec<CountedCalls> {
    let kept: HashSet<u32> = view.method_calls.iter().map(|of| of.method).collect();
    let counted = view.method_calls.iter();
    let counted = counted.map(|of| (of.method, Some(of.calls), of.since_ns, of.until_ns));
    let moment = |moments: &HashMap<u32, u64>, method| moments.get(&method).copied();
    let since = |method| moment(&view.counted_since, method);
    let until = |method| moment(&view.counted_until, method);
    let lost: BTreeSet<u32> = view.counted_since.keys().copied().collect();
    let left_out = lost.into_iter().filter(|method| !kept.contains(method));
    let left_out = left_out.map(|method| (method, None, since(method), until(method)));
    counted.chain(left_out).collect()
}

/// Returns the methods with durations of calls: the method, the number of calls, and the percentiles in nanoseconds.
fn latencies(view: &View<'_>) -> Vec<(u32, u64, [u64; 5])> {
    let all = view.latencies.iter();
    let mut all: Vec<_> = all
        .map(|(method, latency)| {
            let percentiles = latency.percentiles.map(|ns| ns.round() as u64);
            (*method, latency.calls, percentiles)
        })
        .collect();
    all.sort_unstable();
    all
}

/// Returns the threads as JSON, and the number of nodes that are left out of their trees.
pub(super) fn threads(
    lanes: &[Lane],
    counts: bool,
    is_diff: bool,
    top: Option<usize>,
) -> (Vec<Value>, usize) {
    let most = top.unwrap_or(MOST_NODES).min(MOST_NODES);
    let mut heaviest = Heaviest::of(lanes, most);
    let threads = lanes
        .iter()
        .map(|lane| lane.write(&mut heaviest, is_diff, counts))
        .collect();
    let nodes: usize = lanes.iter().map(Lane::size).sum();
    (threads, nodes.saturating_sub(most))
}

pub(super) fn header(view: &View<'_>) -> Header {
    let header = &view.profile.header;
    Header {
        // Overflowed calls concern the tree of calls; allocations do not come from it.
        overflowed_calls: match view.quantity {
            Quantity::Time => header.overflowed_calls,
            Quantity::Bytes => 0,
        },
        notes: header
            .all_notes()
            .map(str::to_owned)
            .chain(header.explained.iter().cloned())
            .collect(),
        explained: Vec::new(),
        ..header.clone()
    }
}

pub(super) fn methods(methods: &[Method], names: &[String]) -> Value {
    json!({
        "name": names,
        "class": methods.iter().map(|m| &*m.class).collect::<Vec<_>>(),
        "descriptor": methods.iter().map(|m| &*m.descriptor).collect::<Vec<_>>(),
        "loader": methods.iter().map(|m| &*m.loader).collect::<Vec<_>>(),
        "loaders": methods.iter().map(|m| m.loaders).collect::<Vec<_>>(),
        "file": methods.iter().map(|m| m.file.as_deref()).collect::<Vec<_>>(),
        "line": methods.iter().map(|m| m.line).collect::<Vec<_>>(),
    })
}
