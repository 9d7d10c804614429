//! Adds samples and waiting times to a profile.

use std::collections::{BTreeSet, HashMap};

use loadhook_profile::{Engine, Method, Node, Profile, Sampling, ThreadKind, ThreadTree};
use loadhook_text::count;

use super::forest::Forest;
use super::jit::JitTable;
use super::names::Names;
use super::owner::Owner;
use super::time_sampler::Sampler;
use super::vm_threads::VmThreadKind;
use crate::frames::profile_parts::{self, ProfileMethods};
use crate::instrument::loaders::Loader;

/// A copy of the sampler's result so far.
pub(crate) struct TimeSnapshot {
    names: Names,
    forest: Forest,
    sampling: Sampling,
    vm_threads: Vec<(VmThreadKind, u64)>,
    jit: Option<JitTable>,
    notes: Vec<String>,
}

impl TimeSnapshot {
    /// Returns the class loaders of the methods in the snapshot.
    pub(crate) fn loaders(&self) -> impl Iterator<Item = Loader> {
        self.names.loaders()
    }

    /// Adds the snapshot to a profile. `loaders` has the names of class loaders by number.
    pub(crate) fn add_to(&self, loaders: &HashMap<u32, String>, profile: &mut Profile) {
        let mut methods = ProfileMethods::of(profile);
        let mut of_names: HashMap<u32, u32> = HashMap::new();
        for owner in self.forest.owners() {
            let thread = profile_parts::thread(profile, &owner.name, owner.id, owner.kind);
            let nodes = self.nodes(owner, |name| {
                *of_names.entry(name.0).or_insert_with(|| {
                    let method = self.names.method(name, loaders);
                    methods.number(profile, method)
                })
            });
            let unsampled_ns = owner.unsampled_ns();
            let unsampled = (unsampled_ns > 0).then(|| {
                let method = methods.number(profile, Method::native("[not sampled]", ""));
                measured(method, unsampled_ns)
            });
            if let Some(tree) = profile.threads.get_mut(thread as usize) {
                tree.nodes = nodes;
                tree.nodes.extend(unsampled);
            }
        }
        for (kind, ns) in &self.vm_threads {
            if *ns > 0 {
                let method = match kind {
                    VmThreadKind::Collector => Method::garbage_collector(),
                    VmThreadKind::Compiler => Method::jit_compiler(),
                    VmThreadKind::Vm => Method::virtual_machine(),
                    VmThreadKind::Library => Method::native("[native]", ""),
                };
                let name = method.class.clone();
                let method = methods.number(profile, method);
                profile.threads.push(ThreadTree {
                    name,
                    id: None,
                    kind: ThreadKind::Platform,
                    cpu_ns: None,
                    nodes: vec![measured(method, *ns)],
                });
            }
        }
        profile.jit = self.jit.as_ref().map(|jit| {
            jit.code(|name| {
                *of_names.entry(name.0).or_insert_with(|| {
                    let method = self.names.method(name, loaders);
                    methods.number(profile, method)
                })
            })
        });
        profile.sampling = Some(self.sampling);
        profile.header.notes.extend(self.notes.iter().cloned());
    }

    /// Makes the nodes of an owner's tree for a profile. `method` returns the index that a name's method has in the
    /// profile.
    fn nodes(
        &self,
        owner: &Owner,
        mut method: impl FnMut(super::stack_tree::NameNumber) -> u32,
    ) -> Vec<Node> {
        let all = self.forest.nodes();
        // The tree needs the callers of all nodes with costs. If a thread only waited at a node, the callers have no
        // costs themselves.
        let mut wanted: BTreeSet<u32> = BTreeSet::new();
        for node in owner.costs.keys() {
            let mut at = Some(*node);
            while let Some(number) = at
                && wanted.insert(number)
            {
                at = all.get(number as usize).and_then(|node| node.parent);
            }
        }
        let mut nodes: Vec<Node> = Vec::with_capacity(wanted.len());
        let mut places: HashMap<u32, u32> = HashMap::with_capacity(wanted.len());
        let mut by_method: HashMap<(Option<u32>, u32, Option<u32>), u32> = HashMap::new();
        // Callers come before their callees, because callers have lower numbers.
        for number in wanted {
            let Some(node) = all.get(number as usize) else {
                continue;
            };
            let parent = node.parent.and_then(|parent| places.get(&parent).copied());
            let method = method(node.name);
            let line = self.names.line(node.name);
            let place = *by_method.entry((parent, method, line)).or_insert_with(|| {
                nodes.push(Node {
                    parent,
                    method,
                    line,
                    ..Node::default()
                });
                nodes.len() as u32 - 1
            });
            places.insert(number, place);
            if let (Some(cost), Some(node)) =
                (owner.costs.get(&number), nodes.get_mut(place as usize))
            {
                node.timed += cost.samples;
                node.all_ns += cost.all_ns;
                node.outermost_ns += cost.outermost_ns;
                node.child_ns += cost.child_ns;
                node.variance += cost.squares;
                node.ticked_ns += cost.self_ns;
                node.ticked_variance += cost.self_squares;
                node.waiting.add(&cost.waiting);
            }
        }
        nodes
    }
}

/// Makes a node for a time that was measured, not sampled.
fn measured(method: u32, ns: u64) -> Node {
    Node {
        method,
        all_ns: ns,
        outermost_ns: ns,
        ticked_ns: ns,
        ..Node::default()
    }
}

impl Sampler {
    /// Returns a copy of the sampler's result so far.
    pub(crate) fn snapshot(&self) -> TimeSnapshot {
        let signal_note = self.parts.engine.and_then(|engine| engine.signal_note());
        let unloaded_note = self.parts.engine.and_then(|engine| engine.unloaded_note());
        let shared = self.parts.shared.lock();
        let engine = self.parts.engine;
        let early_code_note =
            engine.and_then(|engine| engine.early_code_note(shared.sampling.samples));
        let mut sampling = shared.sampling;
        sampling.tick_ns = sampling
            .weight_ns
            .checked_div(sampling.samples)
            .unwrap_or(0);
        let mut notes = Vec::new();
        if sampling.engine == Engine::Safepoint {
            let reason = shared.not_async.as_ref();
            let reason = reason.map_or(String::new(), |reason| format!(" ({reason})"));
            notes.push(format!(
                "threads were sampled at safepoints{reason}: the time of a method without safepoints is shown \
                 for code that runs after it, and inlined methods may be missing"
            ));
        } else {
            notes.extend(signal_note);
            notes.extend(unloaded_note);
            notes.extend(early_code_note);
        }
        if sampling.lost > 0 {
            notes.push(format!(
                "{} samples are missing, because there was no room for them; use a longer --interval",
                count(sampling.lost)
            ));
        }
        if shared.untimed_threads > 0 {
            notes.push(format!(
                "{} threads could not be sampled, since the system gave no timer for them; --sampler safepoint needs no timers",
                count(shared.untimed_threads)
            ));
        }
        if shared.jit.is_some() && sampling.engine == Engine::Safepoint {
            notes.push(
                "methods that were compiled after sampling at safepoints began are missing among the compiled methods"
                    .to_owned(),
            );
        }
        notes.extend(engine.and_then(|engine| engine.jit_note()));
        notes.extend(shared.jit.as_ref().and_then(JitTable::note));
        let overflowed = shared.forest.overflowed();
        if overflowed > 0 {
            notes.push(format!(
                "{} samples are partly or completely shown as (tree full), since the tree was full; raise --max-nodes",
                count(overflowed)
            ));
        }
        TimeSnapshot {
            names: shared.names.clone(),
            forest: shared.forest.clone(),
            sampling,
            vm_threads: shared.vm_threads.clone(),
            jit: shared.jit.clone(),
            notes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::owner::{Reason, VIRTUAL};
    use super::super::stack_tree::NameNumber;
    use super::*;

    #[test]
    fn callers_come_before_their_callees_and_times_add_up() {
        let mut names = Names::new();
        let [a, b, c] = ["a", "b", "c"].map(|name| names.of(Method::native("lib", name)));
        let mut forest = Forest::new(100);
        forest.run(VIRTUAL, &[c, b, a], 30, 1);
        forest.run(VIRTUAL, &[b, a], 12, 2);
        let node = forest.node(&[a, c]).expect("the node exists");
        forest.wait(VIRTUAL, node, Reason::Sleeping, 7);
        let snapshot = TimeSnapshot {
            names,
            forest,
            sampling: Sampling::default(),
            vm_threads: vec![(VmThreadKind::Collector, 5), (VmThreadKind::Vm, 0)],
            jit: None,
            notes: vec!["a note".to_owned()],
        };
        let mut profile = Profile::default();
        snapshot.add_to(&HashMap::new(), &mut profile);
        let [virtual_threads, collector] = &profile.threads[..] else {
            panic!("{:?}", profile.threads);
        };
        let nodes = &virtual_threads.nodes;
        for (at, node) in nodes.iter().enumerate() {
            assert!(node.parent.is_none_or(|parent| (parent as usize) < at));
        }
        let own: u64 = nodes.iter().map(|node| node.all_ns - node.child_ns).sum();
        let roots = nodes.iter().filter(|node| node.parent.is_none());
        assert_eq!(own, 42);
        assert_eq!(roots.map(|node| node.outermost_ns).sum::<u64>(), 42);
        assert_eq!(nodes.iter().map(|node| node.timed).sum::<u64>(), 3);
        let slept: u64 = nodes.iter().map(|node| node.waiting.sleeping_ns).sum();
        assert_eq!(slept, 7);
        assert_eq!(collector.nodes[0].all_ns, 5);
        assert_eq!(profile.header.notes, ["a note"]);
    }

    #[test]
    fn names_of_one_method_are_one_node() {
        let mut names = Names::new();
        let one = names.of(Method::native("lib", "a"));
        let other = NameNumber(1 << 20);
        let mut forest = Forest::new(100);
        forest.run(VIRTUAL, &[one], 1, 1);
        // A number without a name is shown as `(tree full)`.
        forest.run(VIRTUAL, &[other], 2, 1);
        forest.run(VIRTUAL, &[NameNumber(1 << 21)], 4, 1);
        let snapshot = TimeSnapshot {
            names,
            forest,
            sampling: Sampling::default(),
            vm_threads: Vec::new(),
            jit: None,
            notes: Vec::new(),
        };
        let mut profile = Profile::default();
        snapshot.add_to(&HashMap::new(), &mut profile);
        let mut times: Vec<u64> = profile.threads[0].nodes.iter().map(|n| n.all_ns).collect();
        times.sort_unstable();
        assert_eq!(times, [1, 6]);
    }
}
