//! The part of a profile that was asked for, with its figures: what all
//! formats but pprof write.

use std::collections::BTreeMap;

use loadhook_text::java::in_loaders;
use loadhook_text::printable;
use loadhook_text::units::Quantity;

use super::figures::{Figure, figures};
use super::measure::Measure;
use super::method_names::names;
use super::options::{Options, Sort};
use super::paths::Paths;
use super::waiting::{Waiting, only_waited};
use crate::model::{Profile, ThreadKind, ThreadTree, Timing};

/// A profile seen through [`Options`].
pub(crate) struct View<'p> {
    pub(crate) profile: &'p Profile,
    /// What stands in the place of times.
    pub(crate) measure: Measure,
    /// On-screen names by [`Entry::method`], without control characters.
    pub(crate) names: Vec<String>,
    /// The threads chosen that have calls left.
    pub(crate) trees: Vec<Tree>,
    /// What the chosen threads cost in all, before focusing; the 100 %.
    /// Nanoseconds, or calls where nothing was timed.
    pub(crate) whole: f64,
    /// The threads that are left out since they only waited.
    pub(crate) waiting: Waiting,
}

/// A thread's tree, or several laid over each other.
pub(crate) struct Tree {
    pub(crate) name: String,
    /// Index into [`Profile::threads`]; 0 for several threads.
    pub(crate) thread: u32,
    /// `None` for several threads.
    pub(crate) id: Option<u64>,
    pub(crate) kind: ThreadKind,
    pub(crate) cpu_ns: Option<u64>,
    pub(crate) only_waited: bool,
    /// What the thread cost in all, before focusing.
    pub(crate) whole: f64,
    /// Parents come before their children.
    pub(crate) entries: Vec<Entry>,
    first: Option<u32>,
    /// By entry: its first child and its next sibling.
    links: Vec<[Option<u32>; 2]>,
}

/// One method in one calling context.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) parent: Option<u32>,
    pub(crate) method: u32,
    pub(crate) calls: u64,
    pub(crate) figure: Figure,
    /// The self [weight](Entry::weight) of this entry and all below.
    pub(crate) below: f64,
}

/// One method in all its contexts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Row {
    pub(crate) method: u32,
    pub(crate) calls: u64,
    /// The calls at nodes with known times.
    pub(crate) timed_calls: u64,
    pub(crate) self_ns: f64,
    pub(crate) total_ns: f64,
    /// The part of `total_ns` that the timed calls took.
    pub(crate) timed_ns: f64,
    self_variance: f64,
    once_variance: f64,
    total_variance: f64,
    pub(crate) estimated: bool,
    /// `total_ns` is what it took at most: calls may have run inside each other.
    pub(crate) total_is_bound: bool,
}

/// Totals of nodes below one recursion, added up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Folded {
    nodes: u32,
    total_ns: f64,
    timed_ns: f64,
    goes_back: bool,
}

/// From this share of a time on its standard error makes most of it.
const MOSTLY: f64 = 0.5;

/// A step of a walk through a tree.
pub(crate) enum Step {
    Enter(u32),
    Leave(u32),
}

impl<'p> View<'p> {
    /// Without the threads that only waited, if none is asked for by name.
    pub(crate) fn of_working_threads(profile: &'p Profile, options: &Options<'_>) -> View<'p> {
        let (waiting, left_out) = Waiting::of(profile, options);
        let mut view = View::of(profile, options, &left_out);
        view.waiting = waiting;
        view
    }

    /// Of all threads that the options name.
    pub(crate) fn new(profile: &'p Profile, options: &Options<'_>) -> View<'p> {
        View::of(profile, options, &vec![false; profile.threads.len()])
    }

    /// Without the threads at the places marked.
    pub(crate) fn of(profile: &'p Profile, options: &Options<'_>, left_out: &[bool]) -> View<'p> {
        let focused: Option<Vec<bool>> = options
            .focus
            .map(|focus| profile.methods.iter().map(focus).collect());
        let mut view = View {
            profile,
            measure: options.measure.unwrap_or_default(),
            names: names(&profile.methods)
                .iter()
                .map(|name| printable(name).into_owned())
                .collect(),
            trees: Vec::new(),
            whole: 0.0,
            waiting: Waiting::default(),
        };
        let waited = only_waited(profile);
        for (index, thread) in (0_u32..).zip(&profile.threads) {
            let at = index as usize;
            if left_out[at] || options.thread.is_some_and(|wanted| !wanted(&thread.name)) {
                continue;
            }
            let entries = entries(thread, profile);
            let weight = |entry: &Entry| entry.weight(view.counts_only());
            let whole = entries.iter().map(weight).sum::<f64>();
            view.whole += whole;
            let entries = match &focused {
                Some(focused) => focus(entries, focused),
                None => entries,
            };
            if !entries.is_empty() {
                let mut tree = Tree::new(thread.name.to_string(), entries, view.counts_only());
                tree.thread = index;
                tree.id = thread.id;
                tree.kind = thread.kind;
                tree.cpu_ns = thread.cpu_ns;
                tree.only_waited = waited[at];
                tree.whole = whole;
                view.trees.push(tree);
            }
        }
        view
    }

    /// A method's name for people to read, with the number of its loaders.
    pub(crate) fn shown(&self, method: u32) -> String {
        let name = &self.names[method as usize];
        format!(
            "{name}{}",
            in_loaders(self.profile.methods[method as usize].loaders)
        )
    }

    /// How many threads, as far as it can be told: of those that have ended, of
    /// virtual ones and of merged profiles several are one tree.
    pub(crate) fn threads(&self) -> String {
        let trees = self.trees.len();
        let single = self.trees.iter().all(|tree| tree.id.is_some());
        let text = match (trees, single) {
            (1, true) => "thread",
            (1, false) => "thread or group",
            (_, true) => "threads",
            (_, false) => "threads and groups",
        };
        format!("{trees} {text}")
    }

    /// What the figures are.
    pub(crate) fn quantity(&self) -> Quantity {
        match self.measure {
            Measure::Time => Quantity::Time,
            Measure::Allocated | Measure::Live => Quantity::Bytes,
        }
    }

    /// How many objects are of unknown size; no types are callers.
    pub(crate) fn unsized_objects(&self) -> f64 {
        let unsized_in = |tree: &Tree| {
            let leaves = tree.entries.iter().zip(&tree.links);
            let leaves = leaves.filter(|(_, [callee, _])| callee.is_none());
            leaves.fold(0.0, |sum, (entry, _)| {
                sum + entry.calls.saturating_sub(entry.figure.timed_calls) as f64
            })
        };
        match self.measure {
            Measure::Time => 0.0,
            Measure::Allocated | Measure::Live => self.trees.iter().map(unsized_in).sum(),
        }
    }

    /// What is counted.
    pub(crate) fn calls_word(&self) -> &'static str {
        match self.measure {
            Measure::Time => "calls",
            Measure::Allocated | Measure::Live => "objects",
        }
    }

    /// Whether there are no times.
    pub(crate) fn counts_only(&self) -> bool {
        self.profile.header.timing == Timing::Count
    }

    /// `part` of the whole, in percent.
    pub(crate) fn percent(&self, part: f64) -> f64 {
        if self.whole > 0.0 {
            100.0 * part / self.whole
        } else {
            0.0
        }
    }

    /// All trees laid over each other, path over path.
    pub(crate) fn merged(&self) -> Tree {
        let mut paths = Paths::default();
        let mut entries: Vec<Entry> = Vec::new();
        for tree in &self.trees {
            let mut places: Vec<u32> = Vec::with_capacity(tree.entries.len());
            for entry in &tree.entries {
                let parent = entry.parent.map(|parent| places[parent as usize]);
                let place = paths.number(parent, entry.method);
                places.push(place);
                if place as usize == entries.len() {
                    entries.push(Entry {
                        parent,
                        method: entry.method,
                        figure: Figure {
                            untimed: true,
                            ..Figure::default()
                        },
                        ..Entry::default()
                    });
                }
                let sum = &mut entries[place as usize];
                sum.calls = sum.calls.saturating_add(entry.calls);
                sum.figure.self_ns += entry.figure.self_ns;
                sum.figure.total_ns += entry.figure.total_ns;
                sum.figure.self_variance += entry.figure.self_variance;
                sum.figure.once_variance = sum.figure.once_variance.max(entry.figure.once_variance);
                sum.figure.total_variance += entry.figure.total_variance;
                sum.figure.estimated |= entry.figure.estimated;
                sum.figure.untimed &= entry.figure.untimed;
                sum.figure.timed_calls = sum
                    .figure
                    .timed_calls
                    .saturating_add(entry.figure.timed_calls);
            }
        }
        let name = match &self.trees[..] {
            [one] => one.name.clone(),
            several => format!("{} threads", several.len()),
        };
        Tree::new(name, entries, self.counts_only())
    }

    /// The methods called, in all their contexts.
    pub(crate) fn rows(&self, sort: Sort) -> Vec<Row> {
        let mut rows = self.empty_rows();
        for tree in &self.trees {
            tree.add_to(&mut rows);
        }
        rows.retain(|row| row.calls > 0);
        self.sort(&mut rows, sort);
        rows
    }

    /// The methods called by each of [`View::trees`], in the order of their numbers.
    pub(crate) fn rows_by_tree(&self) -> Vec<Vec<Row>> {
        let mut rows = self.empty_rows();
        let of_tree = |tree: &Tree| {
            tree.add_to(&mut rows);
            let mut methods: Vec<u32> = tree.entries.iter().map(|entry| entry.method).collect();
            methods.sort_unstable();
            methods.dedup();
            let taken = methods.into_iter().map(|method| {
                let empty = Row {
                    method,
                    ..Row::default()
                };
                std::mem::replace(&mut rows[method as usize], empty)
            });
            taken.filter(|row| row.calls > 0).collect()
        };
        self.trees.iter().map(of_tree).collect()
    }

    fn empty_rows(&self) -> Vec<Row> {
        let empty = |method| Row {
            method: method as u32,
            ..Row::default()
        };
        (0..self.profile.methods.len()).map(empty).collect()
    }

    fn sort(&self, rows: &mut [Row], sort: Sort) {
        let by_name = |row: &Row| &self.names[row.method as usize];
        let key = |row: &Row| match sort {
            Sort::SelfTime if self.measure == Measure::Time => row.sure_ns(),
            Sort::SelfTime => row.self_ns,
            Sort::Total => row.total_ns,
            Sort::Calls => row.calls as f64,
            Sort::Mean => row.mean_ns().unwrap_or(0.0),
            Sort::Name => 0.0,
        };
        rows.sort_by(|a, b| {
            let values = key(b).total_cmp(&key(a));
            let values = match sort {
                Sort::SelfTime => values.then(b.self_ns.total_cmp(&a.self_ns)),
                _ => values,
            };
            // Where nothing was timed the calls decide.
            let calls = if sort == Sort::Name {
                std::cmp::Ordering::Equal
            } else {
                b.calls.cmp(&a.calls)
            };
            values.then(calls).then_with(|| by_name(a).cmp(by_name(b)))
        });
    }
}

fn entries(thread: &ThreadTree, profile: &Profile) -> Vec<Entry> {
    let figures = figures(&thread.nodes, &profile.header);
    let pairs = thread.nodes.iter().zip(figures);
    pairs
        .map(|(node, figure)| Entry {
            parent: node.parent,
            method: node.method,
            calls: node.calls,
            figure,
            below: 0.0,
        })
        .collect()
}

/// Keeps the paths through a focused method. What lies above it stays as its
/// context, without a self time and with the kept callees' total.
fn focus(mut entries: Vec<Entry>, focused: &[bool]) -> Vec<Entry> {
    // At or below a focused method; then also those with one below.
    let mut inside = vec![false; entries.len()];
    for (at, entry) in entries.iter().enumerate() {
        let above = entry.parent.is_some_and(|parent| inside[parent as usize]);
        inside[at] = above || focused[entry.method as usize];
    }
    let mut kept = inside.clone();
    let mut totals = vec![(0.0f64, 0.0f64); entries.len()];
    for at in (0..entries.len()).rev() {
        if !inside[at] {
            let figure = &mut entries[at].figure;
            figure.self_ns = 0.0;
            figure.self_variance = 0.0;
            figure.once_variance = 0.0;
            figure.total_ns = totals[at].0.min(figure.total_ns);
            figure.timed_ns = figure.timed_ns.min(figure.total_ns);
            figure.total_variance = totals[at].1;
        }
        if let Some(parent) = entries[at].parent.filter(|_| kept[at]) {
            let parent = parent as usize;
            kept[parent] = true;
            totals[parent].0 += entries[at].figure.total_ns;
            totals[parent].1 += entries[at].figure.total_variance;
        }
    }
    let mut places = vec![None; entries.len()];
    let mut left = Vec::new();
    for (at, mut entry) in entries.into_iter().enumerate() {
        if kept[at] {
            places[at] = Some(left.len() as u32);
            entry.parent = entry.parent.and_then(|parent| places[parent as usize]);
            let recursion = entry.figure.recursion;
            entry.figure.recursion = recursion.and_then(|r| places[r as usize]);
            left.push(entry);
        }
    }
    left
}

impl Entry {
    /// Whether times of some of its calls are unknown: those that are known are
    /// the least it took.
    pub(crate) fn is_partial(&self) -> bool {
        self.figure.timed_calls < self.calls
    }

    /// What makes an entry wide in a picture: its self time, or its calls where
    /// nothing was timed.
    pub(crate) fn weight(&self, counts_only: bool) -> f64 {
        if counts_only {
            self.calls as f64
        } else {
            self.figure.self_ns
        }
    }
}

impl Row {
    /// `self_ns` where it is known.
    pub(crate) fn own_ns(&self) -> Option<f64> {
        (self.timed_calls > 0).then_some(self.self_ns)
    }

    /// `total_ns` where anything is known of it.
    pub(crate) fn whole_ns(&self) -> Option<f64> {
        (self.timed_calls > 0 || self.total_ns > 0.0).then_some(self.total_ns)
    }

    /// Total time a call, of those with known times; recursive calls count as
    /// calls, so that of a recursive method this is less than an outermost call
    /// takes.
    pub(crate) fn mean_ns(&self) -> Option<f64> {
        (self.timed_calls > 0).then(|| self.timed_ns / self.timed_calls as f64)
    }

    /// Whether times of some of its calls are unknown.
    pub(crate) fn is_partial(&self) -> bool {
        self.timed_calls < self.calls
    }

    /// Standard error of `self_ns`.
    pub(crate) fn self_error_ns(&self) -> f64 {
        (self.self_variance + self.once_variance).sqrt()
    }

    /// The self time that is left where it is two standard errors less.
    pub(crate) fn sure_ns(&self) -> f64 {
        (self.self_ns - 2.0 * self.self_error_ns()).max(0.0)
    }

    /// Whether the self time is mostly error.
    pub(crate) fn is_mostly_error(&self) -> bool {
        self.estimated && self.self_ns > 0.0 && self.self_error_ns() > MOSTLY * self.self_ns
    }

    /// Standard error of `total_ns`.
    pub(crate) fn total_error_ns(&self) -> f64 {
        self.total_variance.sqrt()
    }
}

impl Folded {
    pub(crate) fn add(&mut self, figure: &Figure) {
        self.nodes += 1;
        self.total_ns += figure.total_ns;
        self.timed_ns += figure.timed_ns;
        self.goes_back |= figure.goes_back;
    }

    /// All of it, and what timed calls took. At two nodes calls can run inside
    /// each other, but never outside the recursion.
    pub(crate) fn totals_ns(&self, tree: &Tree, recursion: u32) -> [f64; 2] {
        let limit = tree.entries[recursion as usize].figure.total_ns;
        [self.total_ns, self.timed_ns].map(|total| total.min(limit))
    }

    /// Whether they can: the way from one node to another goes back to a node
    /// above both.
    pub(crate) fn is_bound(&self) -> bool {
        self.nodes > 1 && self.goes_back
    }
}

impl Tree {
    fn new(name: String, mut entries: Vec<Entry>, counts_only: bool) -> Tree {
        for entry in &mut entries {
            entry.below = entry.weight(counts_only);
        }
        for at in (0..entries.len()).rev() {
            if let Some(parent) = entries[at].parent {
                entries[parent as usize].below += entries[at].below;
            }
        }
        // The heaviest first, in pictures and texts alike.
        let mut order: Vec<u32> = (0..entries.len() as u32).collect();
        order.sort_by(|a, b| {
            let [x, y] = [a, b].map(|at| &entries[*at as usize]);
            x.below.total_cmp(&y.below).then(b.cmp(a))
        });
        let mut first = None;
        let mut links = vec![[None; 2]; entries.len()];
        for at in order {
            let head = match entries[at as usize].parent {
                Some(parent) => &mut links[parent as usize][0],
                None => &mut first,
            };
            let next = head.replace(at);
            links[at as usize][1] = next;
        }
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

    /// Roots, heaviest first, or the callees of an entry.
    pub(crate) fn children(&self, of: Option<u32>) -> impl Iterator<Item = u32> {
        let mut next = match of {
            Some(entry) => self.links[entry as usize][0],
            None => self.first,
        };
        std::iter::from_fn(move || {
            let at = next?;
            next = self.links[at as usize][1];
            Some(at)
        })
    }

    /// Walks depth first, heaviest callees first, without recursion: trees are
    /// as deep as Java's stacks. `step` returns whether to go below what it entered.
    pub(crate) fn walk(&self, mut step: impl FnMut(Step) -> bool) {
        let mut path: Vec<u32> = Vec::new();
        let mut next = self.first;
        loop {
            if let Some(at) = next {
                path.push(at);
                let below = step(Step::Enter(at));
                next = self.links[at as usize][0].filter(|_| below);
            } else if let Some(at) = path.pop() {
                step(Step::Leave(at));
                next = self.links[at as usize][1];
            } else {
                return;
            }
        }
    }

    /// Adds the entries to their methods' rows. An entry whose method is on
    /// the path already adds nothing to its total.
    fn add_to(&self, rows: &mut [Row]) {
        let mut on_path = vec![0u32; rows.len()];
        let mut folded: BTreeMap<(u32, u32), Folded> = BTreeMap::new(); // by recursion and method
        self.walk(|step| {
            match step {
                Step::Enter(at) => {
                    let Entry {
                        method,
                        calls,
                        figure,
                        ..
                    } = self.entries[at as usize];
                    let row = &mut rows[method as usize];
                    row.calls = row.calls.saturating_add(calls);
                    row.timed_calls = row.timed_calls.saturating_add(figure.timed_calls);
                    row.self_ns += figure.self_ns;
                    row.self_variance += figure.self_variance;
                    row.once_variance = row.once_variance.max(figure.once_variance);
                    row.estimated |= figure.estimated;
                    if on_path[method as usize] == 0 {
                        row.total_variance += figure.total_variance;
                        match figure.recursion {
                            Some(recursion) => {
                                folded.entry((recursion, method)).or_default().add(&figure);
                            }
                            None => {
                                row.total_ns += figure.total_ns;
                                row.timed_ns += figure.timed_ns;
                            }
                        }
                    }
                    on_path[method as usize] += 1;
                }
                Step::Leave(at) => on_path[self.entries[at as usize].method as usize] -= 1,
            }
            true
        });
        for ((recursion, method), folded) in folded {
            let row = &mut rows[method as usize];
            let [total, timed] = folded.totals_ns(self, recursion);
            row.total_ns += total;
            row.timed_ns += timed;
            row.total_is_bound |= folded.is_bound();
        }
    }
}
