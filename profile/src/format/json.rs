//! Loadhook's own JSON, described in `docs/user/formats.md`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::{Serialize, Serializer};
use serde_json::json;

use super::{frames_json, locks_json};
use crate::analysis::allocation_places::chosen_sites;
use crate::analysis::gc_pauses::{ordered, sum};
use crate::analysis::jit;
use crate::analysis::latencies::Latency;
use crate::analysis::measure::Measure;
use crate::analysis::method_names::names;
use crate::analysis::method_rows::Row;
use crate::analysis::options::{Options, Sort};
use crate::analysis::view::View;
use crate::model::{
    Allocations, Amount, Frame, GcPauses, Header, JitCode, Profile, Recording, Sampling, Seen,
    Site, ThreadKind, Waiting,
};

/// The version of this JSON. It is raised if a field changes its meaning or is removed, but not if
/// one is added.
const VERSION: u32 = 2;

pub(super) fn write(
    profile: &Profile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let view = View::of_calls(profile, options);
    let mut rows = view.rows(options.sort);
    rows.truncate(options.top.unwrap_or(usize::MAX));
    let file = File {
        version: VERSION,
        header: &profile.header,
        sampling: profile.sampling,
        threads: Threads(&view),
        methods: Methods(&view, rows),
        tree: Tree(&view),
        skipped: &profile.header.left_alone,
        allocations: profile
            .allocations
            .as_ref()
            .map(|a| allocations(profile, a, options)),
        locks: profile
            .locks
            .as_ref()
            .map(|locks| locks_json::locks(profile, locks, options)),
        gc: profile.gc_pauses.as_deref().map(gc),
        jit: profile
            .jit
            .as_ref()
            .map(|code| jit_code(profile, code, options)),
    };
    serde_json::to_writer(&mut *out, &file)?;
    writeln!(out)
}

#[derive(Serialize)]
struct File<'v, 'p> {
    version: u32,
    header: &'v Header,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<Sampling>,
    threads: Threads<'v, 'p>,
    methods: Methods<'v, 'p>,
    tree: Tree<'v, 'p>,
    skipped: &'v BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocations: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    locks: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gc: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jit: Option<serde_json::Value>,
}

/// Returns the work of the JIT compiler as JSON: the compiled methods, each with the methods that
/// were inlined into it.
fn jit_code(profile: &Profile, code: &JitCode, options: &Options<'_>) -> serde_json::Value {
    let named = |method: u32| {
        let method = &profile.methods[method as usize];
        json!({
            "class": &*method.class,
            "method": &*method.name,
            "descriptor": &*method.descriptor,
        })
    };
    let mut inlined: BTreeMap<u32, Vec<serde_json::Value>> = BTreeMap::new();
    for of in &code.inlined {
        let mut told = named(of.method);
        told["depth"] = json!(of.depth);
        told["calls"] = json!(of.calls);
        inlined.entry(of.into).or_default().push(told);
    }
    let mut methods = jit::by_size(code);
    methods.truncate(options.top.unwrap_or(usize::MAX));
    let methods = methods.into_iter().map(|of| {
        let mut told = named(of.method);
        told["size"] = json!(of.size);
        told["compilations"] = json!(of.compilations);
        told["discarded"] = json!(of.discarded);
        told["code_bytes"] = json!(of.code_bytes);
        told["inlined"] = json!(inlined.get(&of.method).map_or(&[][..], |inlined| inlined));
        told
    });
    let all = jit::sum(code);
    json!({
        "compilations": all.compilations,
        "discarded": all.discarded,
        "code_bytes": all.code_bytes,
        "methods": methods.collect::<Vec<_>>(),
    })
}

/// Returns the pauses of the garbage collector as JSON.
fn gc(pauses: &[GcPauses]) -> serde_json::Value {
    let all = sum(pauses);
    json!({
        "pauses": all.pauses,
        "total_ns": all.total_ns,
        "longest_ns": all.longest_ns,
        "causes": ordered(pauses),
    })
}

/// Returns the allocation sites as JSON. The objects and bytes of samples are rounded estimates.
fn allocations(
    profile: &Profile,
    allocations: &Allocations,
    options: &Options<'_>,
) -> serde_json::Value {
    let sampled = allocations.seen.is_sampled();
    let amount = |amount: &Amount| {
        let mut told =
            json!({ "objects": whole(amount.objects), "bytes": amount.bytes.map(whole) });
        if sampled {
            told["objects_error"] = json!(whole(amount.objects_variance.sqrt()));
            told["bytes_error"] = json!(whole(amount.bytes_variance.sqrt()));
        }
        told
    };
    let frame = |frame: &Frame| frames_json::frame(profile, frame);
    let mut sites: Vec<&Site> = chosen_sites(profile, allocations, options).collect();
    let weight = |site: &Site| {
        let amount = match options.measure {
            Some(Measure::Live) => site.live,
            _ => site.allocated,
        };
        match options.sort {
            Sort::Calls => amount.objects,
            _ => amount.bytes.unwrap_or(0.0),
        }
    };
    let names = match options.sort {
        Sort::Name => names(&profile.methods),
        _ => Vec::new(),
    };
    let place = |site: &Site| {
        let frame = allocations.path(site).next();
        frame.map(|frame| (names.get(frame.method as usize), frame.line))
    };
    sites.sort_by(|a, b| match options.sort {
        Sort::Name => place(a).cmp(&place(b)),
        _ => weight(b).total_cmp(&weight(a)),
    });
    sites.truncate(options.top.unwrap_or(usize::MAX));
    let site = |site: &&Site| {
        let thread = &profile.threads[site.thread as usize];
        let mut told = json!({
            "type": &*site.type_name,
            "thread": &*thread.name,
            "thread_id": thread.id,
            "stack": allocations.path(site).map(frame).collect::<Vec<_>>(),
            "allocated": amount(&site.allocated),
        });
        if allocations.live {
            told["live"] = amount(&site.live);
            told["live_age"] = json!(site.live_age);
        }
        told
    };
    let mut told = recording(allocations.recording());
    told["sites"] = sites.iter().map(site).collect();
    told
}

/// Returns the way in which allocations were recorded, as JSON.
pub(super) fn recording(recording: Recording) -> serde_json::Value {
    let interval = match recording.seen {
        Seen::Exact | Seen::All => None,
        Seen::Sampled { interval } => Some(interval),
    };
    json!({
        "mode": recording.mode(),
        "sampled": recording.seen.is_sampled(),
        "interval": interval,
        "live": recording.live,
    })
}

struct Threads<'v, 'p>(&'v View<'p>);
struct Methods<'v, 'p>(&'v View<'p>, Vec<Row>);
struct Tree<'v, 'p>(&'v View<'p>);

#[derive(Serialize)]
struct JsonThread<'a> {
    name: &'a str,
    id: Option<u64>,
    kind: ThreadKind,
    cpu_ns: Option<u64>,
    only_waited: bool,
}

#[derive(Serialize)]
struct JsonMethod<'a> {
    class: &'a str,
    method: &'a str,
    descriptor: &'a str,
    loader: &'a str,
    loaders: u32,
    file: Option<&'a str>,
    line: Option<u32>,
    calls: Option<u64>,
    timed_calls: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    samples: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_ns: Option<u64>,
    self_ns: Option<u64>,
    total_ns: Option<u64>,
    mean_ns: Option<u64>,
    estimated: bool,
    self_error_ns: Option<u64>,
    total_error_ns: Option<u64>,
    total_is_bound: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    counted_since_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counted_until_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency: Option<serde_json::Value>,
}

#[derive(Serialize)]
struct JsonNode<'a> {
    id: u64,
    parent: Option<u64>,
    thread: usize,
    class: &'a str,
    method: &'a str,
    descriptor: &'a str,
    calls: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    samples: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<JsonWaiting>,
    self_ns: Option<u64>,
    total_ns: Option<u64>,
    estimated: bool,
}

/// Time for which threads waited with the node innermost.
#[derive(Serialize)]
struct JsonWaiting {
    monitor_ns: u64,
    parked_ns: u64,
    sleeping_ns: u64,
    io_ns: u64,
    other_ns: u64,
}

impl JsonWaiting {
    /// Converts waiting times for the JSON; `None` if no thread waited.
    fn of(waiting: &Waiting) -> Option<JsonWaiting> {
        let Waiting {
            monitor_ns,
            parked_ns,
            sleeping_ns,
            io_ns,
            other_ns,
        } = *waiting;
        (waiting.total_ns() > 0).then_some(JsonWaiting {
            monitor_ns,
            parked_ns,
            sleeping_ns,
            io_ns,
            other_ns,
        })
    }
}

/// Returns the durations of a method's calls as JSON.
pub(super) fn latency(latency: &Latency) -> serde_json::Value {
    let [p50, p90, p99, p999, max] = latency.percentiles.map(whole);
    json!({
        "calls": latency.calls,
        "p50_ns": p50,
        "p90_ns": p90,
        "p99_ns": p99,
        "p999_ns": p999,
        "max_ns": max,
    })
}

/// Returns a number of nanoseconds, objects or bytes, rounded to a whole number.
fn whole(ns: f64) -> u64 {
    ns.round() as u64
}

impl Serialize for Threads<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.trees.iter().map(|tree| JsonThread {
            name: &tree.name,
            id: tree.id,
            kind: tree.kind,
            cpu_ns: tree.cpu_ns,
            only_waited: tree.only_waited,
        }))
    }
}

impl Serialize for Methods<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.1.iter().map(|row| {
            let method = &self.0.profile.methods[row.method as usize];
            JsonMethod {
                class: &method.class,
                method: &method.name,
                descriptor: &method.descriptor,
                loader: &method.loader,
                loaders: method.loaders,
                file: method.file.as_deref(),
                line: method.line,
                calls: row.known_calls(),
                timed_calls: row.known_count,
                samples: row.is_sampled.then_some(row.samples),
                waiting_ns: row.is_sampled.then(|| whole(row.waiting)),
                self_ns: row.known_own().map(whole),
                total_ns: row.some_total().map(whole),
                mean_ns: row.mean().map(whole),
                estimated: row.is_estimated,
                self_error_ns: row.known_own().map(|_| whole(row.own_error())),
                total_error_ns: row.some_total().map(|_| whole(row.total_error())),
                total_is_bound: row.total_is_bound,
                counted_since_ns: row.counted_since_ns,
                counted_until_ns: row.counted_until_ns,
                latency: self.0.latencies.get(&row.method).map(latency),
            }
        }))
    }
}

impl Serialize for Tree<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Node ids are numbered through all threads.
        let mut next = 0;
        let is_sampled = self.0.is_sampled();
        let trees = self.0.trees.iter().enumerate().map(|(thread, tree)| {
            let first = next;
            next += tree.entries.len() as u64;
            (thread, tree, first)
        });
        serializer.collect_seq(trees.flat_map(|(thread, tree, first)| {
            (first..).zip(&tree.entries).map(move |(id, entry)| {
                let method = &self.0.profile.methods[entry.method as usize];
                JsonNode {
                    id,
                    parent: entry.parent.map(|parent| first + u64::from(parent)),
                    thread,
                    class: &method.class,
                    method: &method.name,
                    descriptor: &method.descriptor,
                    calls: (!is_sampled).then_some(entry.weight.count),
                    samples: is_sampled.then_some(entry.weight.count),
                    waiting: JsonWaiting::of(&entry.weight.waiting),
                    self_ns: entry.weight.known_own().map(whole),
                    total_ns: entry.weight.some_total().map(whole),
                    estimated: entry.weight.is_estimated,
                }
            })
        }))
    }
}
