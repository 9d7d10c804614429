//! Sums up sampled stacks: in one tree of nodes that all threads share, with the times of each thread at the nodes.

use std::collections::HashMap;
use std::sync::Arc;

use loadhook_profile::ThreadKind;

use super::owner::{Cost, Owner, OwnerNumber, Reason};
use super::stack_tree::{NameNumber, Node, Path, StackTree};
use crate::threads::groups::{Groups, VIRTUAL_THREADS};

/// The tree of stacks, and the times of all owners at its nodes.
#[derive(Clone, Debug)]
pub(super) struct Forest {
    tree: StackTree,
    owners: Vec<Owner>,
    free: Vec<OwnerNumber>,
    groups: Groups,
    /// Number of costs of all owners together. A cost is the times of one owner at one node.
    costs: usize,
    /// Maximum number of costs.
    most: usize,
    /// Number of samples and waits that would have needed more costs than there is room for. Their times were added at
    /// [`TREE_FULL`](super::stack_tree::TREE_FULL).
    overflowed: u64,
    path: Path,
}

impl Forest {
    /// Makes an empty forest for at most `most` nodes and at most `most` costs.
    pub(super) fn new(most: usize) -> Self {
        let virtual_threads = Owner::new(VIRTUAL_THREADS.into(), None, ThreadKind::Virtual);
        Forest {
            tree: StackTree::new(most),
            owners: vec![virtual_threads],
            free: Vec::new(),
            groups: Groups::default(),
            costs: 0,
            most,
            overflowed: 0,
            path: Path::default(),
        }
    }

    pub(super) fn nodes(&self) -> &[Node] {
        self.tree.nodes()
    }

    /// Returns the owners that have times.
    pub(super) fn owners(&self) -> impl Iterator<Item = &Owner> {
        let has_times = |owner: &&Owner| !owner.costs.is_empty() || owner.unsampled_ns > 0;
        self.owners.iter().filter(has_times)
    }

    /// Returns the number of samples and waits for which the nodes or the costs had no room. Their inner frames, or
    /// their whole stacks, are replaced by [`TREE_FULL`](super::stack_tree::TREE_FULL).
    pub(super) fn overflowed(&self) -> u64 {
        self.tree.overflowed() + self.overflowed
    }

    fn put(&mut self, owner: Owner) -> OwnerNumber {
        match self.free.pop() {
            Some(number) => {
                self.owners[number.0 as usize] = owner;
                number
            }
            None => {
                self.owners.push(owner);
                OwnerNumber(self.owners.len() as u32 - 1)
            }
        }
    }

    /// Adds a thread.
    pub(super) fn begin(&mut self, name: Arc<str>, id: Option<u64>) -> OwnerNumber {
        self.put(Owner::new(name, id, ThreadKind::Platform))
    }

    /// Changes the name of a thread.
    pub(super) fn rename(&mut self, owner: OwnerNumber, name: &str) {
        let owner = &mut self.owners[owner.0 as usize];
        if *owner.name != *name {
            owner.name = name.into();
        }
    }

    /// Adds the times of an ended thread to the group of the ended threads whose names differ from `name` at most in
    /// numbers. `thread` is the owner number of the thread; `None` if the thread has no times. This number may be given
    /// to another owner afterwards. `unsampled_ns` is the thread's processor time minus the times of its samples.
    pub(super) fn end(&mut self, thread: Option<OwnerNumber>, name: &str, unsampled_ns: i64) {
        let costs = match thread {
            Some(thread) => std::mem::take(&mut self.owners[thread.0 as usize].costs),
            None => HashMap::new(),
        };
        if !costs.is_empty() || unsampled_ns != 0 {
            let group = self.group(name);
            self.costs -= costs.len();
            let group = &mut self.owners[group.0 as usize];
            let before = group.costs.len();
            for (node, cost) in costs {
                group.costs.entry(node).or_default().add(&cost);
            }
            group.unsampled_ns = group.unsampled_ns.saturating_add(unsampled_ns);
            self.costs += group.costs.len() - before;
        }
        self.free.extend(thread);
    }

    /// Finds or makes the group of the ended threads whose names differ from `thread_name` at most in numbers.
    pub(super) fn group(&mut self, thread_name: &str) -> OwnerNumber {
        let mut groups = std::mem::take(&mut self.groups);
        let group = groups.number(thread_name, |name| {
            let group = Owner::new(name, None, ThreadKind::Ended);
            self.put(group).0
        });
        self.groups = groups;
        OwnerNumber(group)
    }

    /// Adds running time to the nodes of a stack (innermost frame first). `samples` is the number of samples that have
    /// shown this time.
    pub(super) fn run(&mut self, owner: OwnerNumber, stack: &[NameNumber], ns: u64, samples: u64) {
        let mut path = std::mem::take(&mut self.path);
        self.tree.find(stack, &mut path);
        let costs = &self.owners[owner.0 as usize].costs;
        let missing = path
            .frames
            .iter()
            .filter(|(node, _)| !costs.contains_key(node));
        if self.costs + missing.count() > self.most {
            self.overflowed += 1;
            path.frames.clear();
            path.frames.push((self.tree.full_root(), true));
        }
        let costs = &mut self.owners[owner.0 as usize].costs;
        let before = costs.len();
        let square = (ns as f64) * (ns as f64);
        let innermost = path.frames.len().saturating_sub(1);
        for (at, (node, is_first)) in path.frames.iter().enumerate() {
            let cost = costs.entry(*node).or_default();
            cost.all_ns += ns;
            if *is_first {
                cost.outermost_ns += ns;
                cost.squares += square;
            }
            if at < innermost {
                cost.child_ns += ns;
            } else {
                cost.samples += samples;
                cost.self_ns += ns;
                cost.self_squares += square;
            }
        }
        self.costs += costs.len() - before;
        self.path = path;
    }

    /// Forgets the stacks of all samples. Keeps the times of waiting, and, at the name `unwalked`, the running times of
    /// ended threads, because ended threads cannot be sampled again. Returns the number of samples and the nanoseconds
    /// that are kept.
    pub(super) fn forget_running(&mut self, unwalked: NameNumber) -> (u64, u64) {
        let mut stays = Vec::new();
        for (number, owner) in (0..).zip(&self.owners) {
            if owner.kind == ThreadKind::Ended {
                let samples: u64 = owner.costs.values().map(|cost| cost.samples).sum();
                let ns: u64 = owner.costs.values().map(|cost| cost.self_ns).sum();
                stays.push((OwnerNumber(number), samples, ns));
            }
        }
        for cost in self
            .owners
            .iter_mut()
            .flat_map(|owner| owner.costs.values_mut())
        {
            *cost = Cost {
                waiting: cost.waiting,
                ..Cost::default()
            };
        }
        for &(owner, samples, ns) in stays.iter().filter(|(_, samples, _)| *samples > 0) {
            self.run(owner, &[unwalked], ns, samples);
        }
        let sum = |of: fn(&(OwnerNumber, u64, u64)) -> u64| stays.iter().map(of).sum();
        (sum(|it| it.1), sum(|it| it.2))
    }

    /// Finds or makes the node of the innermost frame of a stack; `None` if the stack has no frames.
    pub(super) fn node(&mut self, stack: &[NameNumber]) -> Option<u32> {
        let mut path = std::mem::take(&mut self.path);
        self.tree.find(stack, &mut path);
        let node = path.frames.last().map(|(node, _)| *node);
        self.path = path;
        node
    }

    /// Adds time for which an owner waited at a node.
    pub(super) fn wait(&mut self, owner: OwnerNumber, node: u32, reason: Reason, ns: u64) {
        let is_known = self.owners[owner.0 as usize].costs.contains_key(&node);
        let node = if is_known || self.costs < self.most {
            node
        } else {
            self.overflowed += 1;
            self.tree.full_root()
        };
        let costs = &mut self.owners[owner.0 as usize].costs;
        let before = costs.len();
        let waiting = &mut costs.entry(node).or_default().waiting;
        let sum = match reason {
            Reason::Monitor => &mut waiting.monitor_ns,
            Reason::Parked => &mut waiting.parked_ns,
            Reason::Sleeping => &mut waiting.sleeping_ns,
            Reason::Io => &mut waiting.io_ns,
            Reason::Other => &mut waiting.other_ns,
        };
        *sum += ns;
        self.costs += costs.len() - before;
    }
}

#[cfg(test)]
mod tests {
    use super::super::owner::VIRTUAL;
    use super::*;

    fn names<const N: usize>(outermost_first: [u32; N]) -> Vec<NameNumber> {
        outermost_first
            .iter()
            .rev()
            .map(|n| NameNumber(*n))
            .collect()
    }

    /// Returns the path of a node, outermost first.
    fn path(forest: &Forest, node: u32) -> Vec<u32> {
        let mut path = Vec::new();
        let mut at = Some(node);
        while let Some(node) = at.map(|at| forest.nodes()[at as usize]) {
            path.push(node.name.0);
            at = node.parent;
        }
        path.reverse();
        path
    }

    fn cost(forest: &Forest, owner: OwnerNumber, wanted: &[u32]) -> Cost {
        let costs = &forest.owners[owner.0 as usize].costs;
        let mut found = costs
            .iter()
            .filter(|(node, _)| path(forest, **node) == wanted);
        *found.next().expect("the node exists").1
    }

    #[test]
    fn times_add_up() {
        let mut forest = Forest::new(100);
        let thread = forest.begin("a".into(), Some(1));
        forest.run(thread, &names([1, 2, 3]), 30, 1);
        forest.run(thread, &names([1, 2]), 12, 3);
        forest.run(VIRTUAL, &names([1, 2]), 5, 1);
        let root = cost(&forest, thread, &[1]);
        assert_eq!(
            (root.all_ns, root.outermost_ns, root.child_ns),
            (42, 42, 42)
        );
        let middle = cost(&forest, thread, &[1, 2]);
        assert_eq!((middle.all_ns, middle.child_ns), (42, 30));
        assert_eq!((middle.self_ns, middle.samples), (12, 3));
        assert_eq!(cost(&forest, VIRTUAL, &[1, 2]).self_ns, 5);
        assert_eq!(forest.nodes().len(), 3);
        assert_eq!(forest.costs, 5);
    }

    /// The innermost frame of `1 → 2 → 1 → 3` is at the node `1 → 3`. The time of method 2 includes the time of its
    /// inner calls.
    #[test]
    fn recursion_goes_back_to_its_node() {
        let mut forest = Forest::new(100);
        forest.run(VIRTUAL, &names([1, 2, 1, 3]), 10, 1);
        let outer = cost(&forest, VIRTUAL, &[1]);
        assert_eq!(
            (outer.all_ns, outer.outermost_ns, outer.child_ns),
            (20, 10, 20)
        );
        let middle = cost(&forest, VIRTUAL, &[1, 2]);
        assert_eq!((middle.all_ns, middle.child_ns), (10, 10));
        let inner = cost(&forest, VIRTUAL, &[1, 3]);
        assert_eq!((inner.all_ns, inner.self_ns), (10, 10));
        let deep: Vec<NameNumber> = (0..5000).map(|at| NameNumber(1 + at % 3)).collect();
        forest.run(VIRTUAL, &deep, 10, 1);
        assert!(forest.nodes().len() < 10, "{:?}", forest.nodes());
    }

    /// The second call of 2 is at the same node as the first one, although the stack went back to 1 between them.
    #[test]
    fn a_node_that_comes_again_is_outermost_once() {
        let mut forest = Forest::new(100);
        forest.run(VIRTUAL, &names([1, 2, 1, 2]), 10, 1);
        let twice = cost(&forest, VIRTUAL, &[1, 2]);
        assert_eq!((twice.all_ns, twice.outermost_ns), (20, 10));
        assert!((twice.squares - 100.0).abs() < 1e-9);
    }

    #[test]
    fn ended_threads_of_a_name_are_a_group() {
        let mut forest = Forest::new(1000);
        for number in 0..1000 {
            let name = format!("pool-{number}-thread-1");
            let thread = forest.begin(name.as_str().into(), Some(number));
            forest.run(thread, &names([1, 2]), 10, 1);
            let node = forest.node(&names([1, 4])).expect("the node exists");
            forest.wait(thread, node, Reason::Parked, 7);
            forest.end(Some(thread), &name, 5);
        }
        assert!(
            forest.owners.len() < 5,
            "numbers of ended threads are reused"
        );
        let found: Vec<_> = forest.owners().collect();
        let [group] = found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(&*group.name, "pool-#-thread-#");
        let sum: u64 = group.costs.values().map(|cost| cost.self_ns).sum();
        let parked: u64 = group.costs.values().map(|c| c.waiting.parked_ns).sum();
        assert_eq!((sum, parked, forest.costs), (10_000, 7000, 3));
        assert_eq!(group.unsampled_ns(), 5000);
        forest.end(None, "pool-1-thread-7", -4500);
        let unsampled: Vec<u64> = forest.owners().map(Owner::unsampled_ns).collect();
        assert_eq!(unsampled, [0], "a small remainder may be chance");
    }

    /// When the stacks of a sampler turn out to be wrong, some sampled threads may have ended already.
    #[test]
    fn forgotten_times_of_ended_threads_have_no_stack() {
        let mut forest = Forest::new(100);
        let [ended, alive] = ["a", "b"].map(|name| forest.begin(name.into(), None));
        for thread in [ended, alive] {
            forest.run(thread, &names([1, 2]), 100, 1);
            let node = forest.node(&names([1])).expect("the node exists");
            forest.wait(thread, node, Reason::Io, 3);
        }
        forest.end(Some(ended), "a", 20);
        let unwalked = NameNumber(9);
        assert_eq!(forest.forget_running(unwalked), (1, 100));
        let group = forest.group("a");
        let group = &forest.owners[group.0 as usize];
        assert_eq!(group.unsampled_ns(), 20);
        let alive = &forest.owners[alive.0 as usize];
        assert_eq!(alive.unsampled_ns(), 0, "a live thread is sampled anew");
        for (owner, expected) in [(group, 100), (alive, 0)] {
            let waited: u64 = owner.costs.values().map(|cost| cost.waiting.io_ns).sum();
            let ran: u64 = owner.costs.values().map(|cost| cost.all_ns).sum();
            assert_eq!((waited, ran), (3, expected));
        }
        let group = forest.group("a");
        assert_eq!(cost(&forest, group, &[9]).self_ns, 100);
        // The time of the ended thread is still shown after another thread of the same name was sampled and has ended.
        let later = forest.begin("a".into(), None);
        forest.run(later, &names([1, 2]), 9000, 1);
        forest.end(Some(later), "a", 0);
        assert_eq!(cost(&forest, group, &[9]).self_ns, 100);
    }

    #[test]
    fn without_room_times_are_kept() {
        let mut forest = Forest::new(3);
        forest.run(VIRTUAL, &names([1, 2, 3]), 10, 1);
        forest.run(VIRTUAL, &names([1, 2, 4]), 20, 1);
        let thread = forest.begin("a".into(), Some(1));
        forest.run(thread, &names([1, 2]), 40, 1);
        let node = forest.node(&names([1])).expect("the node exists");
        forest.wait(thread, node, Reason::Io, 3);
        assert!(forest.overflowed() >= 2);
        assert_eq!(cost(&forest, thread, &[0]).self_ns, 40);
        assert_eq!(cost(&forest, thread, &[0]).waiting.io_ns, 3);
        let all: u64 = forest
            .owners()
            .flat_map(|owner| owner.costs.values())
            .map(|cost| cost.self_ns)
            .sum();
        assert_eq!(all, 70);
        assert!(forest.nodes().len() <= 6);
    }
}
