//! Several profiles as one.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::slice;

use thiserror::Error;

use super::merged_allocations::Allocated;
use super::{gc_pauses, jit, latencies, merged_notes, merged_sampling};
use crate::analysis::method_matching::{Key, Matching};
use crate::analysis::paths::Paths;
use crate::model::{
    Header, LocksBuilder, Method, MethodCalls, Node, ProbeCosts, Profile, ThreadKind, ThreadTree,
    Timing,
};

/// The reason why profiles cannot be added or compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MergeError {
    /// One profile has wall time, another CPU time.
    #[error("one profile has wall time, another CPU time; profile both with the same --clock")]
    Clocks,
    /// One profile has times, another counts only.
    #[error(
        "one profile only counts calls, another times them; profile both with the same --timing"
    )]
    Timings,
    /// One profile has exact timing, another adaptive timing. Their probes have different costs.
    #[error(
        "one profile times every call (exact), another a sample (adaptive); profile both with the same --timing"
    )]
    Modes,
    /// One profile has times from samples, another has times from probes.
    #[error(
        "one profile has times from samples (sampled), another from probes; profile both with the same --timing"
    )]
    Samples,
    /// One profile has samples at any instruction, another has samples at safepoints.
    #[error(
        "one profile has samples of the async engine, another of the safepoint engine; profile both with the same --sampler"
    )]
    Engines,
    /// The profiles recorded different allocations: of instrumented classes, of all classes, or samples.
    #[error(
        "the profiles are of different allocations: of the instrumented classes (exact), \
         of all classes (live=exact), or samples (sampled, live); profile both with the same --alloc"
    )]
    Allocations,
}

/// Adds profiles up: methods with the same [`key`](crate::Method::key) become one, threads of the same kind and
/// name become one tree, and memory is summed. A method's number of loaders is the largest in any profile. Live
/// objects are left out, with a note, unless all profiles with allocations have live objects. A note of several
/// processes appears once, with its number of allocations, objects, samples or waits added up. A note with a
/// number of bytes names its process.
///
/// Profiles of one [`process`](Header::process) are the parts of one run, which lasted from the
/// first start to the last end. The durations of several processes are summed. If each process has
/// a class in only one loader of a name, the loader's ordinal is ignored. Merging nothing gives an
/// empty profile.
///
/// # Errors
///
/// Fails if clocks, timing modes or kinds of allocations cannot be added.
pub fn merge(profiles: &[Profile]) -> Result<Profile, MergeError> {
    let all = runs(profiles)?;
    if let [only] = &all[..] {
        return Ok(only.clone().into_owned());
    }
    let all: Vec<&Profile> = all.iter().map(Cow::as_ref).collect();
    let matching = Matching::of(all.iter().map(|profile| &*profile.methods));
    add(&all, |method| matching.key(method), Sort::Runs)
}

/// Groups the profiles into runs: profiles of one process are parts of one run.
pub(crate) fn runs(profiles: &[Profile]) -> Result<Vec<Cow<'_, Profile>>, MergeError> {
    let mut processes: Vec<Vec<&Profile>> = Vec::new();
    for profile in profiles {
        let process = &profile.header.process;
        let is_it = |parts: &&mut Vec<&Profile>| {
            !process.is_empty() && parts.iter().any(|part| part.header.process == *process)
        };
        match processes.iter_mut().find(is_it) {
            Some(parts) => parts.push(profile),
            None => processes.push(vec![profile]),
        }
    }
    // Runs of a single profile come first.
    processes.sort_by_key(|parts| parts.len() > 1);
    let mut runs = Vec::with_capacity(processes.len());
    for parts in processes {
        runs.push(match parts[..] {
            [only] => Cow::Borrowed(only),
            _ => Cow::Owned(add(&parts, Method::key, Sort::Parts)?),
        });
    }
    Ok(runs)
}

/// The relation between the profiles that are added.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// Parts of one process, measured at the same time.
    Parts,
    /// Different processes.
    Runs,
}

fn add<'p>(
    profiles: &[&'p Profile],
    key: impl Fn(&'p Method) -> Key<'p>,
    sort: Sort,
) -> Result<Profile, MergeError> {
    let mut merged = Profile::default();
    let mut methods: HashMap<Key<'_>, u32> = HashMap::new();
    let mut threads: HashMap<(ThreadKind, &str), (usize, Paths)> = HashMap::new();
    let mut allocated = Allocated::default();
    let mut locks = LocksBuilder::default();
    let mut calls: BTreeMap<u32, MethodCalls> = BTreeMap::new();
    let mut all_indexes: Vec<Vec<u32>> = Vec::with_capacity(profiles.len());
    for profile in profiles {
        let mut places = Vec::with_capacity(profile.threads.len());
        let indexes: Vec<u32> = profile
            .methods
            .iter()
            .map(|method| {
                let at = *methods.entry(key(method)).or_insert_with(|| {
                    merged.methods.push(method.clone());
                    merged.methods.len() as u32 - 1
                });
                let known = &mut merged.methods[at as usize];
                known.loaders = known.loaders.max(method.loaders);
                at
            })
            .collect();
        for thread in &profile.threads {
            let (at, paths) = threads
                .entry((thread.kind, &thread.name))
                .or_insert_with(|| {
                    merged.threads.push(ThreadTree {
                        cpu_ns: Some(0),
                        nodes: Vec::new(),
                        ..thread.clone()
                    });
                    (merged.threads.len() - 1, Paths::default())
                });
            let into = &mut merged.threads[*at];
            if into.id != thread.id {
                into.id = None;
            }
            let cpu_ns = into.cpu_ns.zip(thread.cpu_ns);
            into.cpu_ns = cpu_ns.map(|(sum, more)| sum.saturating_add(more));
            places.push(*at as u32);
            add_tree(&mut into.nodes, &thread.nodes, paths, &indexes);
        }
        for counted in &profile.method_calls {
            let method = indexes[counted.method as usize];
            let sum = calls.entry(method).or_insert(MethodCalls {
                method,
                ..MethodCalls::default()
            });
            sum.calls = sum.calls.saturating_add(counted.calls);
            // From the earliest times on, some process only counted, or did not count.
            sum.since_ns = earliest(sum.since_ns, counted.since_ns);
            sum.until_ns = [sum.until_ns, counted.until_ns].into_iter().flatten().min();
        }
        if let Some(allocations) = &profile.allocations {
            let added = allocated.add(allocations, &places, &indexes);
            added.map_err(|_| MergeError::Allocations)?;
        }
        if let Some(waits) = &profile.locks {
            locks.add_all(waits, &places, &indexes);
        }
        all_indexes.push(indexes);
    }
    let sampled = profiles.iter().filter_map(|profile| profile.sampling);
    merged.sampling = merged_sampling::sum(sampled).map_err(|_| MergeError::Engines)?;
    merged.header = header(profiles, sort)?;
    merged.header.notes.splice(..0, without_live(profiles));
    merged.allocations = allocated.sum;
    merged.gc_pauses = gc_pauses::merged(profiles);
    merged.jit = jit::merged(profiles, &all_indexes);
    merged.latencies = latencies::merged(profiles, &all_indexes);
    let has_locks = profiles.iter().any(|profile| profile.locks.is_some());
    merged.locks = has_locks.then(|| locks.finish());
    merged.method_calls = calls.into_values().collect();
    Ok(merged)
}

/// Returns the earlier of two times at which a method lost its timing probes. 0 means that one of the profiles has no timed
/// call, so the other time counts.
fn earliest(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    let moments = [a, b].into_iter().flatten();
    moments.min_by_key(|moment| moment.wrapping_sub(1))
}

/// Returns a note that live objects are left out, if only some of the profiles recorded them.
fn without_live(profiles: &[&Profile]) -> Option<String> {
    let allocations = || profiles.iter().filter_map(|p| p.allocations.as_ref());
    let live = allocations().filter(|a| a.live).count();
    let lacking = allocations().count() - live;
    (live > 0 && lacking > 0).then(|| {
        format!(
            "objects that are still alive are not shown, because {lacking} of {} profiles did not record them; profile all runs with --alloc live",
            live + lacking
        )
    })
}

/// Adds `nodes` to `into`; nodes with the same path become one.
fn add_tree(into: &mut Vec<Node>, nodes: &[Node], paths: &mut Paths, methods: &[u32]) {
    let mut places: Vec<u32> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let parent = node.parent.map(|parent| places[parent as usize]);
        let method = methods[node.method as usize];
        let place = paths.number(parent, method);
        places.push(place);
        if place as usize == into.len() {
            into.push(Node {
                parent,
                method,
                ..Node::default()
            });
        }
        let sum = &mut into[place as usize];
        sum.calls = sum.calls.saturating_add(node.calls);
        sum.timed = sum.timed.saturating_add(node.timed);
        sum.all_ns = sum.all_ns.saturating_add(node.all_ns);
        sum.outermost_ns = sum.outermost_ns.saturating_add(node.outermost_ns);
        sum.child_ns = sum.child_ns.saturating_add(node.child_ns);
        sum.variance += node.variance;
        sum.ticked_ns = sum.ticked_ns.saturating_add(node.ticked_ns);
        sum.ticked_variance += node.ticked_variance;
        sum.waiting.add(&node.waiting);
    }
}

fn header(profiles: &[&Profile], sort: Sort) -> Result<Header, MergeError> {
    let Some(first) = profiles.first() else {
        return Ok(Header::default());
    };
    // A profile without calls, for example of allocations only, fits any timing.
    let has_calls = |profile: &Profile| profile.calls() > 0 || profile.sampling.is_some();
    let timed = profiles.iter().find(|profile| has_calls(profile));
    let timed = &timed.unwrap_or(first).header;
    let mut merged = Header {
        start_epoch_millis: i64::MAX,
        timing: timed.timing,
        clock: timed.clock,
        ..Header::default()
    };
    let mut left_alone: HashMap<&str, u64> = HashMap::new();
    let mut last_end = 0;
    for profile in profiles {
        let header = &profile.header;
        if has_calls(profile) {
            fits(header, &merged)?;
        }
        merged.start_epoch_millis = merged.start_epoch_millis.min(header.start_epoch_millis);
        merged.duration_ns = merged.duration_ns.saturating_add(header.duration_ns);
        merged.attaching_ns = merged.attaching_ns.saturating_add(header.attaching_ns);
        last_end = last_end.max(end(header));
        merged.tracker_bytes = merged.tracker_bytes.saturating_add(header.tracker_bytes);
        merged.overflowed_calls = merged
            .overflowed_calls
            .saturating_add(header.overflowed_calls);
        merged.not_ended |= header.not_ended;
        for (reason, count) in &header.left_alone {
            let methods = left_alone.entry(reason).or_default();
            *methods = match sort {
                // The parts come from different archives, so their methods add up.
                Sort::Parts => methods.saturating_add(*count),
                // The same program leaves the same methods without probes each time, so they are
                // not added up.
                Sort::Runs => (*methods).max(*count),
            };
        }
    }
    merged.notes = match sort {
        Sort::Parts => distinct(profiles, |header| &header.notes),
        Sort::Runs => merged_notes::of_runs(profiles),
    };
    merged.explained = distinct(profiles, |header| &header.explained);
    if sort == Sort::Parts {
        let start = u128::try_from(merged.start_epoch_millis).unwrap_or(0) * 1_000_000;
        merged.duration_ns = u64::try_from(last_end.saturating_sub(start)).unwrap_or(u64::MAX);
    }
    merged.left_alone = left_alone
        .into_iter()
        .map(|(r, n)| (r.to_owned(), n))
        .collect();
    merged.unmatched = unmatched(first, profiles);
    merged.probe = costs(profiles);
    let joined = |text: fn(&Header) -> &[String]| distinct(profiles, text).join(" + ");
    merged.command = joined(|header| slice::from_ref(&header.command));
    merged.jvm = joined(|header| slice::from_ref(&header.jvm));
    merged.version = joined(|header| slice::from_ref(&header.version));
    if profiles
        .iter()
        .all(|p| p.header.process == first.header.process)
    {
        merged.process.clone_from(&first.header.process);
    }
    Ok(merged)
}

/// Checks that the clocks and the kinds of timing of two headers are the same.
fn fits(header: &Header, merged: &Header) -> Result<(), MergeError> {
    if header.clock != merged.clock {
        return Err(MergeError::Clocks);
    }
    match (header.timing, merged.timing) {
        (one, other) if one == other => Ok(()),
        (Timing::Count, _) | (_, Timing::Count) => Err(MergeError::Timings),
        (Timing::Sampled, _) | (_, Timing::Sampled) => Err(MergeError::Samples),
        _ => Err(MergeError::Modes),
    }
}

/// Returns the patterns that matched in none of the profiles.
fn unmatched(first: &Profile, profiles: &[&Profile]) -> Vec<String> {
    let everywhere = |pattern: &&String| {
        profiles
            .iter()
            .all(|profile| profile.header.unmatched.contains(pattern))
    };
    let patterns = first.header.unmatched.iter();
    patterns.filter(everywhere).cloned().collect()
}

/// Returns the end of the measurement, in nanoseconds since 1970.
fn end(header: &Header) -> u128 {
    let start = u128::try_from(header.start_epoch_millis).unwrap_or(0);
    start * 1_000_000 + u128::from(header.duration_ns)
}

/// Returns the mean costs of a probe, weighed by calls.
fn costs(profiles: &[&Profile]) -> ProbeCosts {
    // One more call for each profile, so that profiles without calls have a mean too.
    let weights: Vec<f64> = profiles.iter().map(|p| p.calls() as f64 + 1.0).collect();
    let mean = |cost: fn(&ProbeCosts) -> u64| {
        let pairs = profiles.iter().zip(&weights);
        let sum: f64 = pairs
            .map(|(p, weight)| cost(&p.header.probe) as f64 * weight)
            .sum();
        (sum / weights.iter().sum::<f64>()).round() as u64
    };
    ProbeCosts {
        inside_ps: mean(|costs| costs.inside_ps),
        outside_ps: mean(|costs| costs.outside_ps),
        clock_read_ps: mean(|costs| costs.clock_read_ps),
    }
}

/// Returns the distinct texts of all headers.
fn distinct(profiles: &[&Profile], texts: fn(&Header) -> &[String]) -> Vec<String> {
    let mut known = HashSet::new();
    let all = profiles.iter().flat_map(|profile| texts(&profile.header));
    all.filter(|text| known.insert(*text)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a part of a process: calls of `a.A` in one loader. `start` and the duration are in
    /// seconds.
    fn part(process: &str, loader: &str, start: i64, seconds: u64) -> Profile {
        let method = Method {
            loader: loader.into(),
            ..Method::new("a.A", "run", "()V")
        };
        Profile {
            header: Header {
                process: process.to_owned(),
                start_epoch_millis: start * 1000,
                duration_ns: seconds * 1_000_000_000,
                left_alone: [("native".to_owned(), 3)].into(),
                not_ended: seconds == 30,
                notes: vec!["2 trackers".to_owned()],
                ..Header::default()
            },
            methods: vec![method],
            threads: vec![ThreadTree {
                name: "main".into(),
                id: Some(1),
                kind: ThreadKind::Platform,
                cpu_ns: Some(7),
                nodes: vec![Node {
                    calls: seconds,
                    ..Node::default()
                }],
            }],
            ..Profile::default()
        }
    }

    #[test]
    fn parts_of_a_process_are_one_run() {
        let parts = [part("7-1", "l", 100, 20), part("7-1", "l#2", 110, 30)];
        let whole = merge(&parts).expect("the profiles can be merged");
        let header = &whole.header;
        assert_eq!(header.start_epoch_millis, 100_000);
        assert_eq!(
            header.duration_ns, 40_000_000_000,
            "from the first start at 100 s to the last end at 140 s"
        );
        assert_eq!(header.process, "7-1");
        assert_eq!(
            header.left_alone["native"], 6,
            "the numbers of different archives are added"
        );
        assert_eq!(header.notes.len(), 1);
        assert!(header.not_ended, "one of the two profiles had not ended");
        assert_eq!(whole.threads[0].id, Some(1));
        assert_eq!(whole.threads[0].cpu_ns, Some(14));
        // The ordinal distinguishes loaders of one process, and the class is in both.
        let loaders: Vec<&str> = whole.methods.iter().map(|m| &*m.loader).collect();
        assert_eq!(loaders, ["l", "l#2"]);
        // A part can also be merged later.
        let later =
            merge(&[whole.clone(), part("7-1", "l", 130, 20)]).expect("the profiles can be merged");
        assert_eq!(later.header.duration_ns, 50_000_000_000);
        assert_eq!((later.methods.len(), later.calls()), (2, 70));
    }

    #[test]
    fn a_profile_without_calls_fits_any_timing() {
        let timed = part("7-1", "l", 100, 20);
        let mut without = part("7-2", "l", 100, 0);
        without.header.timing = Timing::Count;
        without.header.clock = crate::Clock::Cpu;
        for both in [[timed.clone(), without.clone()], [without, timed.clone()]] {
            let merged = merge(&both).expect("the profiles can be merged");
            assert_eq!(merged.header.timing, timed.header.timing);
            assert_eq!(merged.header.clock, timed.header.clock);
        }
        let mut counted = timed.clone();
        counted.header.timing = Timing::Count;
        assert_eq!(merge(&[timed, counted]), Err(MergeError::Timings));
    }

    #[test]
    fn processes_are_added() {
        let one = [part("7-1", "l", 100, 20), part("7-1", "l#2", 110, 30)];
        let other = part("7-2", "l", 100, 5);
        let all = merge(&[&one[..], &[other]].concat()).expect("the profiles can be merged");
        assert_eq!(all.header.duration_ns, 45_000_000_000);
        assert_eq!(all.header.process, "");
        assert_eq!(all.header.left_alone["native"], 6);
        // Profiles without a process are separate runs.
        let unknown = [part("", "l", 100, 20), part("", "l#2", 100, 20)];
        let both = merge(&unknown).expect("the profiles can be merged");
        assert_eq!(both.header.duration_ns, 40_000_000_000);
        assert_eq!(
            both.methods.len(),
            1,
            "the same loaders in another order give the same methods"
        );
    }
}
