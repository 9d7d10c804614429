//! Allocations as calling-context trees, whose innermost callees are the types of the objects. The
//! count of a node is a number of objects, its weight their bytes. So the code that shows trees of
//! calls can show these trees, too. Waits for locks have trees of the same form: the innermost callees
//! are the classes of the locks, the counts numbers of waits, and the weights nanoseconds.

use std::collections::HashMap;

use super::measure::Measure;
use super::paths::Paths;
use super::weight::Weight;
use crate::model::{Amount, Frame, Method, Profile, Site};

/// The trees of all threads.
pub(crate) struct AllocationTrees {
    /// The profile's methods, followed by the types.
    pub(crate) methods: Vec<Method>,
    /// The nodes of each thread, in the order of [`Profile::threads`]; parents come before their
    /// children.
    pub(crate) threads: Vec<Vec<AllocationNode>>,
}

/// A method, or a type, in one calling context.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AllocationNode {
    pub(crate) parent: Option<u32>,
    /// Index into [`AllocationTrees::methods`].
    pub(crate) method: u32,
    is_type: bool,
    objects: u64,
    /// The number of objects whose size is known.
    sized_objects: u64,
    bytes: u64,
    bytes_variance: f64,
}

/// Makes the trees of all allocations, or with [`Measure::Live`] of the objects that are alive, or
/// with [`Measure::Contention`] of contended locks.
///
/// Recursion is folded, as it is in trees of calls.
pub(crate) fn allocation_trees(profile: &Profile, measure: Measure) -> AllocationTrees {
    let mut trees = TreesBuilder::new(profile);
    match measure {
        Measure::Contention => trees.add_contentions(profile),
        Measure::Live => trees.add_sites(profile, |site| site.live),
        Measure::Time | Measure::Allocated => trees.add_sites(profile, |site| site.allocated),
    }
    trees.made
}

/// Trees while they grow.
struct TreesBuilder<'p> {
    made: AllocationTrees,
    /// For each type, its index in [`AllocationTrees::methods`].
    types: HashMap<&'p str, u32>,
    paths: Vec<Paths>,
}

impl<'p> TreesBuilder<'p> {
    fn new(profile: &'p Profile) -> TreesBuilder<'p> {
        TreesBuilder {
            made: AllocationTrees {
                methods: profile.methods.clone(),
                threads: vec![Vec::new(); profile.threads.len()],
            },
            types: HashMap::new(),
            paths: profile.threads.iter().map(|_| Paths::default()).collect(),
        }
    }

    fn add_sites(&mut self, profile: &'p Profile, amount: fn(&Site) -> Amount) {
        let Some(allocations) = &profile.allocations else {
            return;
        };
        for site in &allocations.sites {
            let frames = allocations.path(site);
            self.add(site.thread, frames, &site.type_name, amount(site));
        }
    }

    fn add_contentions(&mut self, profile: &'p Profile) {
        let Some(locks) = &profile.locks else {
            return;
        };
        for wait in locks.contentions() {
            let amount = Amount {
                objects: wait.count as f64,
                bytes: Some(wait.ns as f64),
                ..Amount::default()
            };
            self.add(wait.thread, locks.path(wait.frame), &wait.class, amount);
        }
    }

    /// Adds an amount. `frames` are the stack, innermost first.
    fn add<'f>(
        &mut self,
        thread: u32,
        frames: impl Iterator<Item = &'f Frame>,
        type_name: &'p str,
        amount: Amount,
    ) {
        let methods = &mut self.made.methods;
        let type_method = *self.types.entry(type_name).or_insert_with(|| {
            methods.push(Method::of_type(type_name));
            methods.len() as u32 - 1
        });
        if amount.objects == 0.0 {
            return;
        }
        let thread = thread as usize;
        let path = folded_path(frames, type_method);
        add(
            &mut self.made.threads[thread],
            &mut self.paths[thread],
            &path,
            amount,
        );
    }
}

/// Returns the methods of a stack, the outermost first, and then the type. A recursive call cuts the
/// path back to the earlier call of its method, so no method is on the path twice.
fn folded_path<'f>(frames: impl Iterator<Item = &'f Frame>, type_method: u32) -> Vec<u32> {
    let mut methods: Vec<u32> = frames.map(|frame| frame.method).collect();
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

/// Adds the amount of a site to each node of its path.
fn add(nodes: &mut Vec<AllocationNode>, paths: &mut Paths, path: &[u32], amount: Amount) {
    let objects = amount.objects.round() as u64;
    // Rounded here and not in each node, so that a caller's bytes are exactly the sum of its
    // callees'.
    let bytes = amount.bytes.unwrap_or(0.0).round() as u64;
    let mut parent = None;
    for (depth, method) in path.iter().enumerate() {
        let place = paths.number(parent, *method);
        if place as usize == nodes.len() {
            nodes.push(AllocationNode {
                parent,
                method: *method,
                is_type: depth + 1 == path.len(),
                ..AllocationNode::default()
            });
        }
        let node = &mut nodes[place as usize];
        node.objects += objects;
        if amount.bytes.is_some() {
            node.sized_objects += objects;
        }
        node.bytes += bytes;
        node.bytes_variance += amount.bytes_variance;
        parent = Some(place);
    }
}

/// Returns the weights of a thread's nodes.
pub(crate) fn weights(nodes: &[AllocationNode]) -> Vec<Weight> {
    let mut weights: Vec<Weight> = nodes.iter().map(AllocationNode::own_weight).collect();
    // A method's own bytes are the difference between its bytes and its callees', so the errors of
    // both add up.
    let mut callees_variance = vec![0.0; nodes.len()];
    for (at, node) in nodes.iter().enumerate().rev() {
        let weight = &mut weights[at];
        weight.total += weight.own;
        weight.known_total = weight.total;
        weight.own_variance = callees_variance[at] + node.bytes_variance;
        let Weight {
            total, is_unknown, ..
        } = *weight;
        if let Some(parent) = node.parent {
            let parent = parent as usize;
            weights[parent].total += total;
            if !is_unknown && !weights[parent].is_unknown && !weights[parent].is_partial() {
                callees_variance[parent] += node.bytes_variance;
            }
        }
    }
    weights
}

impl AllocationNode {
    /// Returns the node's weight without the weight of its callees.
    fn own_weight(&self) -> Weight {
        let is_unknown = self.sized_objects == 0;
        let is_estimated = self.bytes_variance > 0.0;
        let known_count = if is_estimated && !is_unknown {
            // Samples of known size stand for all objects.
            self.objects
        } else {
            self.sized_objects
        };
        let has_own = self.is_type && !is_unknown;
        Weight {
            count: self.objects,
            known_count,
            own: if has_own { self.bytes as f64 } else { 0.0 },
            total_variance: self.bytes_variance,
            is_estimated,
            is_unknown,
            ..Weight::default()
        }
    }
}
