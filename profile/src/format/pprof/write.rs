//! Writes pprof.

use std::collections::HashMap;
use std::io::{self, Write};

use super::fields::{self, COMMENT_PREFIX};
use super::file::{File, PIECE, distances};
use super::{allocations, locks};
use crate::analysis::figures::{CountingCosts, Figure, figures};
use crate::analysis::method_names::names;
use crate::format::notes::FEW_NOTES;
use crate::format::table::sampled;
use crate::model::{
    JitCode, LatencyRange, Method, MethodCalls, Node, Profile, Seen, ThreadTree, Timing, Waiting,
};

/// Writes `profile` as gzipped pprof.
///
/// # Errors
///
/// Fails if writing to `out` fails.
pub fn write(profile: &Profile, out: impl Write) -> io::Result<()> {
    let mut file = File::new(out);
    file.facts(profile);
    file.methods(&profile.methods);
    let counting = CountingCosts::of(profile);
    for thread in &profile.threads {
        file.samples(thread, profile, &counting)?;
        file.columns(thread);
        file.flush(0)?;
    }
    let of_calls = call_values(profile).len();
    let of_locks = profile.locks.iter().flat_map(|_| locks::VALUES).count();
    if let Some(allocations) = &profile.allocations {
        file.sites(profile, allocations, of_calls, of_locks)?;
    }
    if let Some(locks) = &profile.locks {
        let others = of_calls + other_values(profile).count() - of_locks;
        file.locks(profile, locks, others)?;
    }
    file.method_calls(profile)?;
    if let Some(code) = &profile.jit {
        file.jit(code);
    }
    file.latencies(&profile.latencies);
    file.finish()
}

/// A sample type: name and unit of a value.
type ValueType = (&'static str, &'static str);

const CALLS: ValueType = ("calls", "count");

/// Returns the sample types of calls and times: `calls`, and `self` if calls were timed. With
/// sampled times, `calls` is the last one.
fn call_values(profile: &Profile) -> &'static [ValueType] {
    match profile.header.timing {
        _ if !profile.has_calls() && (profile.allocations.is_some() || profile.locks.is_some()) => {
            &[]
        }
        Timing::Count => &[CALLS],
        Timing::Adaptive | Timing::Exact => &[CALLS, ("self", "nanoseconds")],
        Timing::Sampled => &[
            ("samples", "count"),
            ("cpu", "nanoseconds"),
            ("waiting", "nanoseconds"),
            CALLS,
        ],
    }
}

/// Returns the sample types of allocations and locks, which come after those of calls.
fn other_values(profile: &Profile) -> impl Iterator<Item = ValueType> {
    let of_sites = profile.allocations.iter().flat_map(allocations::values);
    let of_locks = profile.locks.iter().flat_map(|_| locks::VALUES);
    of_sites.chain(of_locks)
}

/// Returns the values of a node, as [`call_values`] names them.
fn values_of(node: &Node, figure: &Figure, timing: Timing) -> Vec<u64> {
    let own = figure.self_ns.round() as u64;
    match timing {
        Timing::Count => vec![node.calls],
        Timing::Adaptive | Timing::Exact => vec![node.calls, own],
        Timing::Sampled => vec![node.timed, own, node.waiting.total_ns(), 0],
    }
}

impl<W: Write> File<W> {
    /// Writes the fields that occur once.
    fn facts(&mut self, profile: &Profile) {
        let header = &profile.header;
        let of_calls = call_values(profile);
        let values: Vec<_> = of_calls
            .iter()
            .copied()
            .chain(other_values(profile))
            .collect();
        for (name, unit) in &values {
            self.value_type(fields::SAMPLE_TYPE, name, unit);
        }
        let time = of_calls.get(1);
        if time.is_some() {
            let (clock, period) = match (&profile.sampling, header.timing) {
                (sampling, Timing::Sampled) => ("cpu", sampling.map_or(1, |s| s.tick_ns)),
                _ => (header.clock.as_str(), 1),
            };
            self.value_type(fields::PERIOD_TYPE, clock, "nanoseconds");
            self.writer.number(fields::PERIOD, period);
        }
        // The value that other tools show first: time, otherwise calls, otherwise live bytes,
        // otherwise allocated bytes, otherwise the delay of locks.
        let of_sites = profile.allocations.iter().flat_map(allocations::values);
        let of_sites = of_sites.last();
        let main = time
            .or(of_calls.last())
            .or(of_sites.as_ref())
            .or(values.last());
        let default = self.strings.index(main.map_or("", |(name, _)| name));
        self.writer.number(fields::DEFAULT_SAMPLE_TYPE, default);
        let start = header.start_epoch_millis.saturating_mul(1_000_000);
        self.writer
            .number(fields::TIME_NANOS, start.cast_unsigned());
        self.writer
            .number(fields::DURATION_NANOS, header.duration_ns);
        let json =
            serde_json::to_string(header).expect("strings and numbers can be written as JSON");
        self.writer.text(fields::LOADHOOK_HEADER, json.as_bytes());
        if let Some(sampling) = &profile.sampling {
            let json =
                serde_json::to_string(sampling).expect("numbers and a word can be written as JSON");
            self.writer.text(fields::LOADHOOK_SAMPLING, json.as_bytes());
        }
        if let Some(pauses) = &profile.gc_pauses {
            let json =
                serde_json::to_string(pauses).expect("numbers and words can be written as JSON");
            self.writer
                .text(fields::LOADHOOK_GC_PAUSES, json.as_bytes());
        }
        let comments: Vec<u64> = comments(profile)
            .map(|comment| self.strings.index(&comment))
            .collect();
        self.writer.packed(fields::COMMENT, comments);
        // Tools take the first mapping as the program, and search for symbols unless the mapping declares that it has
        // them. Tools show the text after the last slash, so arguments, which may contain slashes, are left out.
        let program = header.command.split_whitespace().next().unwrap_or("");
        let program = self.strings.index(program);
        self.writer.message(fields::MAPPING, |mapping| {
            mapping.number(1, 1); // id
            mapping.number(5, program);
            for has in 7..=9 {
                mapping.number(has, 1); // functions, filenames, line numbers
            }
        });
    }

    /// Writes functions, locations and Loadhook's own columns. An id is the index + 1.
    fn methods(&mut self, methods: &[Method]) {
        for ((method, name), id) in methods.iter().zip(names(methods)).zip(1..) {
            let name = self.strings.index(&name);
            let full = format!("{}.{}{}", method.class, method.name, method.descriptor);
            let full = self.strings.index(&full);
            let file = self.strings.index(method.file.as_deref().unwrap_or(""));
            let line = u64::from(method.line.unwrap_or(0));
            self.writer.message(fields::FUNCTION, |function| {
                function.number(1, id);
                function.number(2, name);
                function.number(3, full);
                function.number(4, file);
                function.number(5, line);
            });
            self.writer.message(fields::LOCATION, |location| {
                location.number(1, id);
                location.number(2, 1); // mapping
                location.message(4, |lines| {
                    lines.number(1, id);
                    lines.number(2, line);
                });
            });
        }
        let strings = &mut self.strings;
        let mut texts = |text: fn(&Method) -> &str| -> Vec<u64> {
            methods.iter().map(|m| strings.index(text(m))).collect()
        };
        let columns = [
            texts(|m| &m.loader),
            texts(|m| &m.class),
            texts(|m| &m.name),
            texts(|m| &m.descriptor),
        ];
        let files = methods.iter().map(|m| m.file.as_deref());
        let files: Vec<u64> = files
            .map(|file| file.map_or(0, |file| self.strings.index(file) + 1))
            .collect();
        let lines = methods
            .iter()
            .map(|m| m.line.map_or(0, |line| u64::from(line) + 1));
        self.writer.message(fields::LOADHOOK_METHODS, |own| {
            for (field, column) in (1..).zip(columns) {
                own.packed(field, column);
            }
            own.packed(5, files);
            own.packed(6, lines);
            if methods.iter().any(|m| m.loaders != 1) {
                own.packed(7, methods.iter().map(|m| m.loaders.into()));
            }
        });
    }

    /// Writes one sample for each node.
    fn samples(
        &mut self,
        thread: &ThreadTree,
        profile: &Profile,
        counting: &CountingCosts,
    ) -> io::Result<()> {
        let figures = figures(&thread.nodes, &profile.header, counting);
        let totals = unusual_totals(thread, &figures);
        let labels = self.thread_labels(thread);
        let [total_key, unit] = ["total", "nanoseconds"].map(|text| self.strings.index(text));
        let timing = profile.header.timing;
        let own_values = call_values(profile).len();
        let others = other_values(profile).count();
        for (at, node) in thread.nodes.iter().enumerate() {
            let total = totals.get(&(at as u32));
            let values = values_of(node, &figures[at], timing);
            if timing == Timing::Sampled && total.is_none() && values.iter().all(|v| *v == 0) {
                continue;
            }
            self.writer.message(fields::SAMPLE, |sample| {
                // pprof wants the leaf first.
                let path = std::iter::successors(Some(node), |node| {
                    node.parent.map(|parent| &thread.nodes[parent as usize])
                });
                sample.packed(1, path.map(|node| u64::from(node.method) + 1));
                let values = values.into_iter().take(own_values);
                sample.packed(2, values.chain(std::iter::repeat_n(0, others)));
                labels.write(sample);
                if let Some(total) = total {
                    sample.message(3, |label| {
                        label.number(1, total_key);
                        label.number(3, *total);
                        label.number(4, unit);
                    });
                }
            });
            self.flush(PIECE)?;
        }
        Ok(())
    }

    fn columns(&mut self, thread: &ThreadTree) {
        let name = self.strings.index(&thread.name);
        self.writer.message(fields::LOADHOOK_THREAD, |own| {
            own.number(1, name);
            own.number(2, thread.id.map_or(0, |id| id.wrapping_add(1)));
            own.number(3, thread.kind as u64);
            let nodes = || thread.nodes.iter();
            own.packed(4, distances(nodes().map(|n| n.parent)));
            own.packed(5, nodes().map(|n| u64::from(n.method)));
            own.packed(6, nodes().map(|n| n.calls));
            own.packed(7, nodes().map(|n| n.timed));
            own.packed(8, nodes().map(|n| n.all_ns));
            own.packed(9, nodes().map(|n| n.outermost_ns));
            own.packed(10, nodes().map(|n| n.child_ns));
            own.packed(11, nodes().map(|n| n.variance.to_bits()));
            own.number(14, thread.cpu_ns.map_or(0, |ns| ns.saturating_add(1)));
            own.packed(12, nodes().map(|n| n.ticked_ns));
            own.packed(13, nodes().map(|n| n.ticked_variance.to_bits()));
            if nodes().any(|n| n.waiting != Waiting::default()) {
                for (field, part) in (15..).zip(0..Waiting::REASONS.len()) {
                    own.packed(field, nodes().map(|n| n.waiting.parts()[part]));
                }
            }
        });
    }

    /// Writes the calls that were counted without their callers: a sample of one
    /// frame for each method, and Loadhook's own columns.
    fn method_calls(&mut self, profile: &Profile) -> io::Result<()> {
        let counted = &profile.method_calls;
        if counted.is_empty() {
            return Ok(());
        }
        let of_calls = call_values(profile);
        let before = of_calls.iter().position(|value| *value == CALLS);
        let others = other_values(profile).count();
        let are_called = counted.iter().filter(|counted| counted.calls > 0);
        for MethodCalls { method, calls, .. } in are_called {
            self.writer.message(fields::SAMPLE, |sample| {
                sample.packed(1, [u64::from(*method) + 1]);
                let mut values = vec![0; of_calls.len() + others];
                if let Some(before) = before {
                    values[before] = *calls;
                }
                sample.packed(2, values);
            });
            self.flush(PIECE)?;
        }
        self.writer.message(fields::LOADHOOK_METHOD_CALLS, |own| {
            own.packed(1, counted.iter().map(|counted| counted.method.into()));
            own.packed(2, counted.iter().map(|counted| counted.calls));
            if counted.iter().any(|counted| counted.since_ns.is_some()) {
                own.packed(3, counted.iter().map(|counted| moment(counted.since_ns)));
            }
            if counted.iter().any(|counted| counted.until_ns.is_some()) {
                own.packed(4, counted.iter().map(|counted| moment(counted.until_ns)));
            }
        });
        self.flush(0)
    }
}

impl<W: Write> File<W> {
    /// Writes the work of the JIT compiler in Loadhook's own columns.
    fn jit(&mut self, code: &JitCode) {
        self.writer.message(fields::LOADHOOK_COMPILED, |own| {
            let methods = || code.methods.iter();
            own.packed(1, methods().map(|of| of.method.into()));
            own.packed(2, methods().map(|of| of.compilations));
            own.packed(3, methods().map(|of| of.discarded));
            own.packed(4, methods().map(|of| of.code_bytes));
            own.packed(5, methods().map(|of| of.size));
        });
        self.writer.message(fields::LOADHOOK_INLINED, |own| {
            let inlined = || code.inlined.iter();
            own.packed(1, inlined().map(|of| of.into.into()));
            own.packed(2, inlined().map(|of| of.method.into()));
            own.packed(3, inlined().map(|of| of.depth.into()));
            own.packed(4, inlined().map(|of| of.calls));
        });
    }
}

impl<W: Write> File<W> {
    /// Writes the durations of calls in Loadhook's own columns.
    fn latencies(&mut self, ranges: &[LatencyRange]) {
        if ranges.is_empty() {
            return;
        }
        self.writer.message(fields::LOADHOOK_LATENCIES, |own| {
            own.packed(1, ranges.iter().map(|range| range.method.into()));
            own.packed(2, ranges.iter().map(|range| range.range.into()));
            own.packed(3, ranges.iter().map(|range| range.calls));
        });
    }
}

/// Returns facts for users of other tools, one in each line.
fn comments(profile: &Profile) -> impl Iterator<Item = String> {
    let header = &profile.header;
    let measured = match header.timing {
        _ if call_values(profile).is_empty() => String::new(),
        Timing::Count => "calls counted, not timed".to_owned(),
        Timing::Sampled => {
            let facts = profile.sampling.iter().flat_map(sampled::facts);
            let facts: Vec<String> = facts.collect();
            format!("processor times from samples; {}", facts.join(", "))
        }
        Timing::Exact => format!("{} clock, every call timed", header.clock.as_str()),
        Timing::Adaptive => format!(
            "{} clock; counts are exact, times of short calls estimated from a sample",
            header.clock.as_str()
        ),
    };
    let allocated = profile
        .allocations
        .as_ref()
        .map(|allocations| match allocations.seen {
            Seen::Exact => "every allocation of the instrumented classes".to_owned(),
            Seen::All => "every allocation".to_owned(),
            Seen::Sampled { interval } => {
                format!("allocations estimated from samples, one in {interval} bytes")
            }
        });
    let measured = Some(measured).filter(|text| !text.is_empty());
    let measured: Vec<String> = measured.into_iter().chain(allocated).collect();
    let measured = measured.join("; ");
    let version = format!("{COMMENT_PREFIX} {}", header.version);
    let full = (header.overflowed_calls > 0).then(|| {
        let calls = header.overflowed_calls;
        format!(
            "{calls} calls are counted as (tree full), since the call tree had no room for them"
        )
    });
    let first = format!("{}: {measured}", version.trim_end());
    // Tools print all comments before anything else, so only some notes are comments. Loadhook's own field has all
    // notes.
    let notes = header.all_notes().count();
    let more = (notes > FEW_NOTES).then(|| {
        let more = notes - FEW_NOTES;
        format!("{more} more notes: loadhook report PROFILE --explain")
    });
    std::iter::once(first)
        .chain(full)
        .chain(header.all_notes().take(FEW_NOTES).map(str::to_owned))
        .chain(more)
}

/// Returns a moment as a number in a column: 0 stands for `None`.
fn moment(ns: Option<u64>) -> u64 {
    ns.map_or(0, |ns| ns.saturating_add(1))
}

/// Returns the totals that differ from the sum of the self times at and below the node.
fn unusual_totals(thread: &ThreadTree, figures: &[Figure]) -> HashMap<u32, u64> {
    let mut below: Vec<f64> = figures.iter().map(|figure| figure.self_ns).collect();
    for (at, node) in thread.nodes.iter().enumerate().rev() {
        if let Some(parent) = node.parent {
            below[parent as usize] += below[at];
        }
    }
    let pairs = figures.iter().zip(below).zip(0..);
    let unusual = pairs.filter(|((figure, below), _)| figure.total_ns > below + 1.0);
    unusual
        .map(|((figure, _), at)| (at, figure.total_ns.round() as u64))
        .collect()
}
