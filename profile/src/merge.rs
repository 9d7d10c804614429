//! Several profiles as one.

use std::collections::{HashMap, HashSet};

use thiserror::Error;

use crate::matching::{Key, Matching};
use crate::model::{Header, Node, ProbeCosts, Profile, ThreadKind, ThreadTree, Timing};
use crate::paths::Paths;

/// Profiles whose times cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MergeError {
    /// Wall time and processor time.
    #[error("one profile holds wall time, another CPU time")]
    Clocks,
    /// Some calls have times and some have none.
    #[error("one profile counts calls only, another times them")]
    Timings,
    /// Exact and adaptive timing, whose probes cost different things.
    #[error("one profile times every call (exact), another a sample (adaptive)")]
    Modes,
}

/// Adds profiles up: methods with the same [`key`](crate::Method::key) are one, whatever
/// their ids were, and so are those of a class that each profile has in one
/// loader only of some name, whatever the loader's ordinal; threads of the same kind and name are one tree; durations
/// and memory are summed. Merging nothing gives an empty profile.
///
/// # Errors
///
/// Clocks or timing modes that cannot be added.
pub fn merge(profiles: &[Profile]) -> Result<Profile, MergeError> {
    let mut merged = Profile::default();
    let matching = Matching::of(profiles.iter());
    let mut methods: HashMap<Key<'_>, u32> = HashMap::new();
    let mut threads: HashMap<(ThreadKind, &str), (usize, Paths)> = HashMap::new();
    for profile in profiles {
        let indexes: Vec<u32> = profile
            .methods
            .iter()
            .map(|method| {
                *methods.entry(matching.key(method)).or_insert_with(|| {
                    merged.methods.push(method.clone());
                    merged.methods.len() as u32 - 1
                })
            })
            .collect();
        for thread in &profile.threads {
            let (at, paths) = threads
                .entry((thread.kind, &thread.name))
                .or_insert_with(|| {
                    merged.threads.push(ThreadTree {
                        nodes: Vec::new(),
                        ..thread.clone()
                    });
                    (merged.threads.len() - 1, Paths::default())
                });
            let into = &mut merged.threads[*at];
            if into.id != thread.id {
                into.id = None;
            }
            add_tree(&mut into.nodes, &thread.nodes, paths, &indexes);
        }
    }
    merged.header = header(profiles)?;
    Ok(merged)
}

/// Lays `nodes` over `into`, path over path.
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
    }
}

fn header(profiles: &[Profile]) -> Result<Header, MergeError> {
    let Some(first) = profiles.first() else {
        return Ok(Header::default());
    };
    let mut merged = Header {
        start_epoch_millis: i64::MAX,
        timing: first.header.timing,
        clock: first.header.clock,
        ..Header::default()
    };
    let mut left_alone: HashMap<&str, u64> = HashMap::new();
    let mut noted: HashSet<&String> = HashSet::new();
    for Profile { header, .. } in profiles {
        if header.clock != merged.clock {
            return Err(MergeError::Clocks);
        }
        match (header.timing, merged.timing) {
            (one, other) if one == other => {}
            (Timing::Count, _) | (_, Timing::Count) => return Err(MergeError::Timings),
            _ => return Err(MergeError::Modes),
        }
        merged.start_epoch_millis = merged.start_epoch_millis.min(header.start_epoch_millis);
        merged.duration_ns = merged.duration_ns.saturating_add(header.duration_ns);
        merged.tracker_bytes = merged.tracker_bytes.saturating_add(header.tracker_bytes);
        merged.overflowed_calls = merged
            .overflowed_calls
            .saturating_add(header.overflowed_calls);
        let new = header.notes.iter().filter(|note| noted.insert(note));
        merged.notes.extend(new.cloned());
        for (reason, count) in &header.left_alone {
            // The same program leaves the same methods alone each time.
            let most = left_alone.entry(reason).or_default();
            *most = (*most).max(*count);
        }
    }
    merged.left_alone = left_alone
        .into_iter()
        .map(|(r, n)| (r.to_owned(), n))
        .collect();
    // A pattern that matched in one of them did match.
    let everywhere = |pattern: &&String| {
        profiles
            .iter()
            .all(|p| p.header.unmatched.contains(pattern))
    };
    merged.unmatched = first
        .header
        .unmatched
        .iter()
        .filter(everywhere)
        .cloned()
        .collect();
    merged.probe = costs(profiles);
    merged.command = distinct(profiles, |header| &header.command);
    merged.jvm = distinct(profiles, |header| &header.jvm);
    merged.version = distinct(profiles, |header| &header.version);
    Ok(merged)
}

/// The mean costs of a probe, by calls.
fn costs(profiles: &[Profile]) -> ProbeCosts {
    // One call more each, so that profiles without any have a mean too.
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

fn push_new(into: &mut Vec<String>, from: &[String]) {
    for text in from {
        if !into.contains(text) {
            into.push(text.clone());
        }
    }
}

/// The distinct texts of all headers, joined.
fn distinct(profiles: &[Profile], text: fn(&Header) -> &String) -> String {
    let mut texts = Vec::new();
    for profile in profiles {
        push_new(&mut texts, std::slice::from_ref(text(&profile.header)));
    }
    texts.join(" + ")
}
