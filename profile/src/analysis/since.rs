//! The profile of the time between two profiles of one program.

use std::collections::HashMap;

use super::method_matching::{Key, Matching};
use super::paths::Paths;
use super::{gc_pauses, latencies, since_allocations, since_locks};
use crate::model::{Node, Profile, Sampling, ThreadKind, ThreadTree, Waiting};

/// Returns the part of `later` that is not in `earlier`: calls, times and allocations of the time between two
/// profiles that one agent wrote. The live objects are taken from `later`.
///
/// Trees keep only the paths on which calls or times were added. A thread that has ended meanwhile is in a group
/// of ended threads in `later`, so its earlier values are subtracted from the groups.
pub fn since(earlier: &Profile, later: &Profile) -> Profile {
    let methods = numbers(earlier, later);
    let mut before = Before::new(earlier, later, &methods);
    let mut between = Profile {
        header: later.header.clone(),
        methods: later.methods.clone(),
        sampling: later.sampling,
        gc_pauses: gc_pauses::since(earlier, later),
        ..Profile::default()
    };
    let header = &mut between.header;
    header.duration_ns = header
        .duration_ns
        .saturating_sub(earlier.header.duration_ns);
    header.attaching_ns = header
        .attaching_ns
        .saturating_sub(earlier.header.duration_ns);
    header.start_epoch_millis = header
        .start_epoch_millis
        .saturating_add_unsigned(earlier.header.duration_ns / 1_000_000);
    header.overflowed_calls = header
        .overflowed_calls
        .saturating_sub(earlier.header.overflowed_calls);
    // Threads that have not ended come first. The threads of the earlier profile that are left then belong to the
    // groups of ended threads.
    let mut order: Vec<usize> = (0..later.threads.len()).collect();
    order.sort_by_key(|at| later.threads[*at].kind == ThreadKind::Ended);
    between.threads = later.threads.iter().map(without_nodes).collect();
    for at in order {
        before.subtract(&later.threads[at], &mut between.threads[at]);
    }
    let mut calls: HashMap<u32, u64> = HashMap::new();
    for counted in &earlier.method_calls {
        if let Some(method) = methods[counted.method as usize] {
            calls.insert(method, counted.calls);
        }
    }
    between.method_calls = later.method_calls.clone();
    for counted in &mut between.method_calls {
        let before = calls.get(&counted.method).copied().unwrap_or(0);
        counted.calls = counted.calls.saturating_sub(before);
        // 0 stands for all times before the part.
        for moment in [&mut counted.since_ns, &mut counted.until_ns] {
            *moment = moment.map(|ns| ns.saturating_sub(earlier.header.duration_ns));
        }
    }
    if let (Some(sampling), Some(before)) = (&mut between.sampling, &earlier.sampling) {
        subtract_sampling(sampling, before);
    }
    between.latencies = latencies::since(earlier, later, &methods);
    between.locks = since_locks::since(earlier, later, &methods, &before.threads);
    between.allocations = since_allocations::since(earlier, later, &methods, &before.threads);
    between
}

/// Returns, for each method of `earlier`, its number in `later`.
fn numbers(earlier: &Profile, later: &Profile) -> Vec<Option<u32>> {
    let matching = Matching::of([&*earlier.methods, &*later.methods].into_iter());
    let keys = later.methods.iter().map(|method| matching.key(method));
    let known: HashMap<Key<'_>, u32> = keys.zip(0..).collect();
    let number = |method| known.get(&matching.key(method)).copied();
    earlier.methods.iter().map(number).collect()
}

fn without_nodes(thread: &ThreadTree) -> ThreadTree {
    ThreadTree {
        nodes: Vec::new(),
        ..thread.clone()
    }
}

/// A thread by its kind and id, or by its name if it stands for several threads.
type ThreadKey<'p> = (ThreadKind, Option<u64>, &'p str);

fn thread_key(thread: &ThreadTree) -> ThreadKey<'_> {
    let name = if thread.id.is_some() {
        ""
    } else {
        &thread.name
    };
    (thread.kind, thread.id, name)
}

/// The values of the earlier profile, which are subtracted.
struct Before<'p> {
    /// For each thread of the earlier profile, its number in the later profile; `None` if the thread has ended.
    threads: Vec<Option<u32>>,
    /// The processor time of each thread.
    cpu_ns: HashMap<ThreadKey<'p>, Option<u64>>,
    /// Paths from roots to nodes, in methods of the later profile and their lines.
    paths: Paths,
    /// The nodes of each thread by their paths.
    nodes: HashMap<(ThreadKey<'p>, u32), Node>,
    /// The sum of the nodes of all threads that have ended meanwhile.
    ended: HashMap<u32, Node>,
}

impl<'p> Before<'p> {
    fn new(earlier: &'p Profile, later: &'p Profile, methods: &[Option<u32>]) -> Before<'p> {
        let keys = later.threads.iter().map(thread_key);
        let known: HashMap<ThreadKey<'_>, u32> = keys.zip(0..).collect();
        let number = |thread| known.get(&thread_key(thread)).copied();
        let mut before = Before {
            threads: earlier.threads.iter().map(number).collect(),
            cpu_ns: HashMap::new(),
            paths: Paths::default(),
            nodes: HashMap::new(),
            ended: HashMap::new(),
        };
        for (at, thread) in earlier.threads.iter().enumerate() {
            let key = thread_key(thread);
            before.cpu_ns.insert(key, thread.cpu_ns);
            let mut places: Vec<Option<u32>> = Vec::with_capacity(thread.nodes.len());
            for node in &thread.nodes {
                let parent = node.parent.map(|parent| places[parent as usize]);
                let place = match (parent, methods[node.method as usize]) {
                    (Some(None), _) | (_, None) => None,
                    (parent, Some(method)) => {
                        Some(before.paths.number_at(parent.flatten(), method, node.line))
                    }
                };
                places.push(place);
                match (place, before.threads[at]) {
                    (Some(place), Some(_)) => drop(before.nodes.insert((key, place), *node)),
                    (Some(place), None) => add(before.ended.entry(place).or_default(), node),
                    (None, _) => {}
                }
            }
        }
        before
    }

    /// Fills the tree of a thread with the part that is not in the earlier profile.
    fn subtract(&mut self, thread: &'p ThreadTree, into: &mut ThreadTree) {
        let key = thread_key(thread);
        let before = self.cpu_ns.get(&key).copied().flatten();
        into.cpu_ns = thread
            .cpu_ns
            .map(|cpu_ns| cpu_ns.saturating_sub(before.unwrap_or(0)));
        let mut nodes = thread.nodes.clone();
        let mut places: Vec<u32> = Vec::with_capacity(nodes.len());
        for node in &mut nodes {
            let parent = node.parent.map(|parent| places[parent as usize]);
            let place = self.paths.number_at(parent, node.method, node.line);
            places.push(place);
            if let Some(before) = self.nodes.get_mut(&(key, place)) {
                take(node, before);
            }
            if thread.kind == ThreadKind::Ended
                && let Some(before) = self.ended.get_mut(&place)
            {
                take(node, before);
            }
        }
        into.nodes = kept(&nodes);
    }
}

fn add(sum: &mut Node, node: &Node) {
    for (sum, more) in numbers_of(sum)
        .into_iter()
        .zip(numbers_of(&mut node.clone()))
    {
        *sum = sum.saturating_add(*more);
    }
    sum.variance += node.variance;
    sum.ticked_variance += node.ticked_variance;
    sum.waiting.add(&node.waiting);
}

/// Subtracts the same amounts from `node` and from `debt`: as much of `debt` as `node` has.
fn take(node: &mut Node, debt: &mut Node) {
    for (value, debt) in numbers_of(node).into_iter().zip(numbers_of(debt)) {
        let taken = (*value).min(*debt);
        *value -= taken;
        *debt -= taken;
    }
    let variances = [
        (&mut node.variance, &mut debt.variance),
        (&mut node.ticked_variance, &mut debt.ticked_variance),
    ];
    for (value, debt) in variances {
        let taken = value.min(*debt);
        *value -= taken;
        *debt -= taken;
    }
    let (mut waited, mut owed) = (node.waiting.parts(), debt.waiting.parts());
    for (value, debt) in waited.iter_mut().zip(&mut owed) {
        let taken = (*value).min(*debt);
        *value -= taken;
        *debt -= taken;
    }
    node.waiting = Waiting::of_parts(waited);
    debt.waiting = Waiting::of_parts(owed);
}

/// Returns the integers of a node that are summed.
fn numbers_of(node: &mut Node) -> [&mut u64; 6] {
    [
        &mut node.calls,
        &mut node.timed,
        &mut node.all_ns,
        &mut node.outermost_ns,
        &mut node.child_ns,
        &mut node.ticked_ns,
    ]
}

/// Returns the nodes with values, and the paths to them.
fn kept(nodes: &[Node]) -> Vec<Node> {
    let mut is_kept: Vec<bool> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let has_value = numbers_of(&mut node.clone())
            .into_iter()
            .any(|value| *value > 0);
        is_kept.push(has_value || node.waiting.total_ns() > 0);
    }
    for (at, node) in nodes.iter().enumerate().rev() {
        if let Some(parent) = node.parent.filter(|_| is_kept[at]) {
            is_kept[parent as usize] = true;
        }
    }
    let mut places: Vec<u32> = Vec::with_capacity(nodes.len());
    let mut kept: Vec<Node> = Vec::new();
    for (node, is_kept) in nodes.iter().zip(is_kept) {
        places.push(kept.len() as u32);
        if is_kept {
            kept.push(Node {
                parent: node.parent.map(|parent| places[parent as usize]),
                ..*node
            });
        }
    }
    kept
}

fn subtract_sampling(sampling: &mut Sampling, before: &Sampling) {
    for (value, before) in [
        (&mut sampling.samples, before.samples),
        (&mut sampling.weight_ns, before.weight_ns),
        (&mut sampling.tracker_ns, before.tracker_ns),
        (&mut sampling.tracker, before.tracker),
        (&mut sampling.unwalked_ns, before.unwalked_ns),
        (&mut sampling.unwalked, before.unwalked),
        (&mut sampling.cut, before.cut),
        (&mut sampling.lost, before.lost),
        (&mut sampling.compared, before.compared),
        (&mut sampling.equal, before.equal),
    ] {
        *value = value.saturating_sub(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Method, MethodCalls};

    /// The threads of a profile. Each has its id, or `None` for a group of ended threads, and its nodes: the
    /// parent, the method and the calls.
    type Threads<'a> = &'a [(Option<u64>, &'a [(Option<u32>, u32, u64)])];

    fn profile(methods: &[&str], seconds: u64, threads: Threads<'_>) -> Profile {
        let node = |(parent, method, calls): &(Option<u32>, u32, u64)| Node {
            parent: *parent,
            method: *method,
            calls: *calls,
            ..Node::default()
        };
        let thread = |(id, nodes): &(Option<u64>, &[_])| ThreadTree {
            name: "worker-#".into(),
            id: *id,
            kind: if id.is_some() {
                ThreadKind::Platform
            } else {
                ThreadKind::Ended
            },
            cpu_ns: Some(seconds),
            nodes: nodes.iter().map(node).collect(),
        };
        let mut profile = Profile {
            methods: methods
                .iter()
                .map(|name| Method::new("a.A", name, "()V"))
                .collect(),
            threads: threads.iter().map(thread).collect(),
            ..Profile::default()
        };
        profile.header.duration_ns = seconds * 1_000_000_000;
        profile
    }

    fn calls(profile: &Profile) -> Vec<Vec<(Option<u32>, &str, u64)>> {
        let of = |node: &Node| {
            let method = &profile.methods[node.method as usize];
            (node.parent, &*method.name, node.calls)
        };
        let threads = profile.threads.iter();
        threads
            .map(|thread| thread.nodes.iter().map(of).collect())
            .collect()
    }

    #[test]
    fn the_difference_has_what_happened_between() {
        let earlier = profile(
            &["a", "b"],
            3,
            &[(Some(1), &[(None, 0, 5), (Some(0), 1, 2)])],
        );
        let later = profile(
            &["b", "c", "a"],
            5,
            &[
                (Some(1), &[(None, 2, 5), (Some(0), 0, 7), (None, 1, 0)]),
                (Some(2), &[(None, 1, 4)]),
            ],
        );
        let between = since(&earlier, &later);
        assert_eq!(
            calls(&between),
            [
                vec![(None, "a", 0), (Some(0), "b", 5)],
                vec![(None, "c", 4)]
            ]
        );
        assert_eq!(between.header.duration_ns, 2_000_000_000);
        assert_eq!(between.header.start_epoch_millis, 3000);
        assert_eq!(between.threads[0].cpu_ns, Some(2));
        assert_eq!(since(&later, &later).calls(), 0);
    }

    #[test]
    fn a_thread_that_has_ended_is_not_counted_twice() {
        let earlier = profile(
            &["a"],
            1,
            &[(Some(1), &[(None, 0, 5)]), (None, &[(None, 0, 10)])],
        );
        let later = profile(&["a"], 2, &[(None, &[(None, 0, 18)])]);
        assert_eq!(calls(&since(&earlier, &later)), [vec![(None, "a", 3)]]);
    }

    #[test]
    fn calls_without_callers_are_subtracted() {
        let counted = |calls| MethodCalls {
            method: 0,
            calls,
            since_ns: Some(1_500_000_000),
            until_ns: Some(900_000_000),
        };
        let mut earlier = profile(&["a"], 1, &[]);
        let mut later = profile(&["b", "a"], 2, &[]);
        earlier.method_calls = vec![counted(4)];
        later.method_calls = vec![
            MethodCalls {
                method: 1,
                ..counted(9)
            },
            counted(3),
        ];
        let between = since(&earlier, &later).method_calls;
        assert_eq!(
            between
                .iter()
                .map(|counted| counted.calls)
                .collect::<Vec<_>>(),
            [5, 3]
        );
        let moments = (between[0].since_ns, between[0].until_ns);
        assert_eq!(
            moments,
            (Some(500_000_000), Some(0)),
            "the part begins at 1 s"
        );
    }
}
