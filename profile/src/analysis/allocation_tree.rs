//! Allocations in the form of calls, so that what shows a calling-context tree
//! shows them: bytes take the place of nanoseconds, objects that of calls, and
//! the types are the innermost callees.

use std::collections::HashMap;

use crate::analysis::measure::Measure;
use crate::analysis::paths::Paths;
use crate::model::{Allocations, Amount, Site};
use crate::model::{Clock, Header, Method, Node, ProbeCosts, Profile, ThreadTree, Timing};

/// The tree of `measure`, which is not time. Recursion is folded, as it is in trees of calls.
pub(crate) fn as_calls(profile: &Profile, measure: Measure) -> Profile {
    let mut made = Profile {
        header: Header {
            timing: Timing::Exact,
            // With the other one, calls that were not timed have times nevertheless.
            clock: Clock::Cpu,
            probe: ProbeCosts::default(),
            overflowed_calls: 0,
            ..profile.header.clone()
        },
        methods: profile.methods.clone(),
        threads: Vec::new(),
        allocations: None,
    };
    let empty = |thread: &ThreadTree| ThreadTree {
        nodes: Vec::new(),
        ..thread.clone()
    };
    made.threads = profile.threads.iter().map(empty).collect();
    let Some(allocations) = &profile.allocations else {
        return made;
    };
    let mut types: HashMap<&str, u32> = HashMap::new();
    let mut paths: Vec<Paths> = made.threads.iter().map(|_| Paths::default()).collect();
    for site in &allocations.sites {
        let amount = match measure {
            Measure::Live => site.live,
            Measure::Time | Measure::Allocated => site.allocated,
        };
        let type_method = *types.entry(&site.type_name).or_insert_with(|| {
            made.methods.push(Method::of_type(&site.type_name));
            made.methods.len() as u32 - 1
        });
        if amount.objects == 0.0 {
            continue;
        }
        let thread = site.thread as usize;
        let nodes = &mut made.threads[thread].nodes;
        add(
            nodes,
            &mut paths[thread],
            &path(allocations, site, type_method),
            amount,
        );
    }
    made
}

/// The methods from the outermost on, and the type; none comes twice.
fn path(allocations: &Allocations, site: &Site, type_method: u32) -> Vec<u32> {
    let mut methods: Vec<u32> = allocations.path(site).map(|frame| frame.method).collect();
    methods.reverse();
    let mut path: Vec<u32> = Vec::with_capacity(methods.len() + 1);
    for method in methods {
        match path.iter().position(|other| *other == method) {
            Some(at) => path.truncate(at + 1),
            None => path.push(method),
        }
    }
    path.push(type_method);
    path
}

fn add(nodes: &mut Vec<Node>, paths: &mut Paths, path: &[u32], amount: Amount) {
    let objects = amount.objects.round() as u64;
    // Once, so that callers have what their callees have together.
    let bytes = amount.bytes.unwrap_or(0.0).round() as u64;
    let mut parent = None;
    for (at, method) in path.iter().enumerate() {
        let place = paths.number(parent, *method);
        if place as usize == nodes.len() {
            nodes.push(Node {
                parent,
                method: *method,
                ..Node::default()
            });
        }
        let node = &mut nodes[place as usize];
        node.calls += objects;
        // As of calls that nobody timed.
        if amount.bytes.is_some() {
            node.timed += objects;
        }
        node.all_ns += bytes;
        node.outermost_ns += bytes;
        if at + 1 < path.len() {
            node.child_ns += bytes;
        }
        node.variance += amount.bytes_variance;
        parent = Some(place);
    }
}
