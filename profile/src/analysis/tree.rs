//! Calling-context trees with their weights.

use std::iter;

use super::paths::Paths;
use super::weight::Weight;
use crate::model::ThreadKind;

/// The tree of a thread, or the merged tree of several threads.
pub(crate) struct Tree {
    pub(crate) name: String,
    /// Index into [`Profile::threads`](crate::Profile::threads); 0 for several threads.
    pub(crate) thread: u32,
    /// The thread's id; `None` for several threads.
    pub(crate) id: Option<u64>,
    pub(crate) kind: ThreadKind,
    pub(crate) cpu_ns: Option<u64>,
    pub(crate) only_waited: bool,
    /// The weight of the whole thread, before `--focus` is applied.
    pub(crate) whole: f64,
    /// Parents come before their children.
    pub(crate) entries: Vec<Entry>,
    /// The heaviest root.
    first: Option<u32>,
    /// For each entry, its first child and its next sibling.
    links: Vec<[Option<u32>; 2]>,
}

/// One method in one calling context.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) parent: Option<u32>,
    pub(crate) method: u32,
    pub(crate) weight: Weight,
    /// The sum of the [sizes](Entry::size) of this entry and all entries below.
    pub(crate) below: f64,
}

/// A step of a depth-first walk through a tree.
pub(crate) enum Step {
    Enter(u32),
    Leave(u32),
}

impl Entry {
    /// Returns the part of an entry's width in a flame graph that its callees do not take: its own
    /// weight, or its count if nothing was timed.
    pub(crate) fn size(&self, counts_only: bool) -> f64 {
        if counts_only {
            self.weight.count as f64
        } else {
            self.weight.own
        }
    }
}

impl Tree {
    pub(crate) fn new(name: String, mut entries: Vec<Entry>, counts_only: bool) -> Tree {
        for entry in &mut entries {
            entry.below = entry.size(counts_only);
        }
        for at in (0..entries.len()).rev() {
            if let Some(parent) = entries[at].parent {
                entries[parent as usize].below += entries[at].below;
            }
        }
        let (first, links) = linked_by_weight(&entries);
        Tree {
            name,
            thread: 0,
            id: None,
            kind: ThreadKind::default(),
            cpu_ns: None,
            only_waited: false,
            whole: 0.0,
            entries,
            first,
            links,
        }
    }

    /// Merges trees: nodes with the same path become one.
    pub(crate) fn overlaid(trees: &[Tree], counts_only: bool) -> Tree {
        let mut paths = Paths::default();
        let mut entries: Vec<Entry> = Vec::new();
        for tree in trees {
            let mut places: Vec<u32> = Vec::with_capacity(tree.entries.len());
            for entry in &tree.entries {
                let parent = entry.parent.map(|parent| places[parent as usize]);
                let place = paths.number(parent, entry.method);
                places.push(place);
                if place as usize == entries.len() {
                    entries.push(Entry {
                        parent,
                        method: entry.method,
                        weight: Weight {
                            is_unknown: true,
                            ..Weight::default()
                        },
                        ..Entry::default()
                    });
                }
                entries[place as usize].weight.add(&entry.weight);
            }
        }
        let name = match trees {
            [one] => one.name.clone(),
            several => format!("{} threads", several.len()),
        };
        Tree::new(name, entries, counts_only)
    }

    /// Returns the callees of an entry, or the roots for `None`; the heaviest first.
    pub(crate) fn children(&self, parent: Option<u32>) -> impl Iterator<Item = u32> {
        let mut next = match parent {
            Some(parent) => self.links[parent as usize][0],
            None => self.first,
        };
        iter::from_fn(move || {
            let at = next?;
            next = self.links[at as usize][1];
            Some(at)
        })
    }

    /// Returns the entries without callees.
    pub(crate) fn leaves(&self) -> impl Iterator<Item = &Entry> {
        let pairs = self.entries.iter().zip(&self.links);
        pairs.filter_map(|(entry, [callee, _])| callee.is_none().then_some(entry))
    }

    /// Walks depth first, the heaviest callees first. `step` returns whether to go below the entry
    /// just entered.
    ///
    /// This is a loop, not a recursion, because trees are as deep as Java's stacks.
    pub(crate) fn walk(&self, mut step: impl FnMut(Step) -> bool) {
        let mut path: Vec<u32> = Vec::new();
        let mut next = self.first;
        loop {
            if let Some(at) = next {
                path.push(at);
                let goes_below = step(Step::Enter(at));
                next = self.links[at as usize][0].filter(|_| goes_below);
            } else if let Some(at) = path.pop() {
                step(Step::Leave(at));
                next = self.links[at as usize][1];
            } else {
                return;
            }
        }
    }
}

/// Returns the first root, and for each entry its first child and its next sibling. Siblings are
/// ordered by weight, the heaviest first.
fn linked_by_weight(entries: &[Entry]) -> (Option<u32>, Vec<[Option<u32>; 2]>) {
    // The lightest come first, since each entry is linked in front of the earlier ones.
    let mut order: Vec<u32> = (0..entries.len() as u32).collect();
    order.sort_by(|a, b| {
        let [first, second] = [a, b].map(|at| &entries[*at as usize]);
        first.below.total_cmp(&second.below).then(b.cmp(a))
    });
    let mut first_root = None;
    let mut links = vec![[None; 2]; entries.len()];
    for at in order {
        let head = match entries[at as usize].parent {
            Some(parent) => &mut links[parent as usize][0],
            None => &mut first_root,
        };
        let next = head.replace(at);
        links[at as usize][1] = next;
    }
    (first_root, links)
}
