//! The part of a profile that the options choose, with its weights. All formats except pprof write
//! a view.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

use loadhook_text::java::in_loaders;
use loadhook_text::printable;
use loadhook_text::units::Quantity;

use super::allocation_tree::{AllocationNode, allocation_trees, weights};
use super::figures::{CountingCosts, Figure, figures};
use super::focus::focus;
use super::latencies::{Latency, latencies};
use super::measure::Measure;
use super::method_names::names;
use super::method_rows::{Row, add_tree};
use super::options::{Options, Sort};
use super::tree::{Entry, Tree};
use super::waiting::{Waiting, only_waited};
use super::weight::Weight;
use crate::model::{Header, Method, MethodCalls, Node, Profile, ThreadTree, Timing};

/// A profile seen through [`Options`].
pub(crate) struct View<'p> {
    pub(crate) profile: &'p Profile,
    /// The profile's methods; in a view of allocations or locks, followed by the types.
    pub(crate) methods: Cow<'p, [Method]>,
    /// The measure that the report is about.
    pub(crate) measure: Measure,
    /// True if nodes are calls, and not allocations or waits.
    is_of_calls: bool,
    /// The unit of all weights.
    pub(crate) quantity: Quantity,
    /// Names for the screen, without control characters, indexed by [`Entry::method`].
    pub(crate) names: Vec<String>,
    /// The chosen threads that have nodes left.
    pub(crate) trees: Vec<Tree>,
    /// Set when any thread of the profile has nodes, chosen or not.
    pub(crate) has_nodes: bool,
    /// The weight of the chosen threads before `--focus` is applied, which is 100 %. In nanoseconds
    /// or bytes; in calls if nothing was timed.
    pub(crate) whole: f64,
    /// The threads that are left out because they only waited.
    pub(crate) waiting: Waiting,
    /// Calls that were counted without their callers, of the methods that the options keep. Each
    /// entry has the calls of all threads and all callers together.
    pub(crate) method_calls: Vec<MethodCalls>,
    /// The durations of calls, for each method that the options keep. Each entry has the calls of all threads and all
    /// callers together.
    pub(crate) latencies: HashMap<u32, Latency>,
    /// The methods that were only counted from some moment on, in any thread; see
    /// [`MethodCalls::since_ns`]. Empty in a view of objects and bytes.
    pub(crate) counted_since: HashMap<u32, u64>,
    /// The methods whose calls were counted until some moment, see [`MethodCalls::until_ns`]. Empty in a view of
    /// objects and bytes.
    pub(crate) counted_until: HashMap<u32, u64>,
}

impl<'p> View<'p> {
    /// Makes a view of the measure and the threads that the options name.
    pub(crate) fn new(profile: &'p Profile, options: &Options<'_>) -> View<'p> {
        match options.measure.unwrap_or_default() {
            Measure::Time => View::of_calls(profile, options),
            measure => View::of_allocations(profile, measure, options),
        }
    }

    /// Makes a view without the threads that only waited, unless the options name threads.
    pub(crate) fn of_working_threads(profile: &'p Profile, options: &Options<'_>) -> View<'p> {
        match options.measure.unwrap_or_default() {
            Measure::Time => {
                let (waiting, left_out) = Waiting::of(profile, options);
                let mut view = View::of_calls_without(&left_out, profile, options);
                view.waiting = waiting;
                view
            }
            measure => View::of_allocations(profile, measure, options),
        }
    }

    /// Makes a view of calls and times, whatever measure the options name.
    pub(crate) fn of_calls(profile: &'p Profile, options: &Options<'_>) -> View<'p> {
        View::of_calls_without(&vec![false; profile.threads.len()], profile, options)
    }

    /// Makes a view of calls and times without the threads that `left_out` marks.
    pub(crate) fn of_calls_without(
        left_out: &[bool],
        profile: &'p Profile,
        options: &Options<'_>,
    ) -> View<'p> {
        let methods = Cow::Borrowed(&*profile.methods);
        let mut view = View::empty(profile, methods, Quantity::Time, options);
        view.is_of_calls = true;
        view.has_nodes = profile.has_calls();
        let moments = |moment: fn(&MethodCalls) -> Option<u64>| {
            let counted = profile.method_calls.iter();
            let of_methods = counted.filter_map(|of| Some((of.method, moment(of)?)));
            of_methods.collect::<HashMap<_, _>>()
        };
        view.counted_since = moments(|counted| counted.since_ns);
        view.counted_until = moments(|counted| counted.until_ns);
        let waited = only_waited(profile);
        let focused = view.focused(options);
        if options.thread.is_none() {
            let is_kept = |method: u32| {
                let is_focused = |focused: &Vec<bool>| focused[method as usize];
                focused.as_ref().is_none_or(is_focused)
            };
            let counted = profile.method_calls.iter();
            let kept = counted.filter(|counted| is_kept(counted.method));
            view.method_calls = kept.copied().collect();
            view.latencies = latencies(profile);
            view.latencies.retain(|method, _| is_kept(*method));
        }
        if view.counts_only() {
            view.whole += view.counted() as f64;
        }
        let counting = CountingCosts::of(profile);
        for (index, thread) in profile.threads.iter().enumerate() {
            if !left_out[index] && is_chosen(thread, options) {
                let entries = call_entries(thread, &profile.header, &counting);
                view.add_thread(index, entries, focused.as_deref(), waited[index]);
            }
        }
        view
    }

    /// Makes a view of objects and bytes, or of waits for locks and their time.
    fn of_allocations(profile: &'p Profile, measure: Measure, options: &Options<'_>) -> View<'p> {
        let trees = allocation_trees(profile, measure);
        let methods = Cow::Owned(trees.methods);
        let quantity = match measure {
            Measure::Contention => Quantity::Time,
            Measure::Time | Measure::Allocated | Measure::Live => Quantity::Bytes,
        };
        let mut view = View::empty(profile, methods, quantity, options);
        view.has_nodes = trees.threads.iter().any(|nodes| !nodes.is_empty());
        let focused = view.focused(options);
        for (index, nodes) in trees.threads.iter().enumerate() {
            if is_chosen(&profile.threads[index], options) {
                view.add_thread(index, allocation_entries(nodes), focused.as_deref(), false);
            }
        }
        view
    }

    fn empty(
        profile: &'p Profile,
        methods: Cow<'p, [Method]>,
        quantity: Quantity,
        options: &Options<'_>,
    ) -> View<'p> {
        let names = names(&methods);
        let names = names.iter().map(|name| printable(name).into_owned());
        View {
            profile,
            names: names.collect(),
            methods,
            measure: options.measure.unwrap_or_default(),
            is_of_calls: false,
            quantity,
            trees: Vec::new(),
            has_nodes: false,
            whole: 0.0,
            waiting: Waiting::default(),
            method_calls: Vec::new(),
            latencies: HashMap::new(),
            counted_since: HashMap::new(),
            counted_until: HashMap::new(),
        }
    }

    /// Returns the sum of the calls in [`View::method_calls`].
    pub(crate) fn counted(&self) -> u64 {
        let calls = self.method_calls.iter().map(|counted| counted.calls);
        calls.fold(0, u64::saturating_add)
    }

    /// Returns for each method whether it is focused; `None` without a focus.
    fn focused(&self, options: &Options<'_>) -> Option<Vec<bool>> {
        options
            .focus
            .map(|focus| self.methods.iter().map(focus).collect())
    }

    /// Adds the tree of a thread.
    fn add_thread(
        &mut self,
        index: usize,
        entries: Vec<Entry>,
        focused: Option<&[bool]>,
        only_waited: bool,
    ) {
        let thread = &self.profile.threads[index];
        let counts_only = self.counts_only();
        let whole: f64 = entries.iter().map(|entry| entry.size(counts_only)).sum();
        self.whole += whole;
        let kept = match focused {
            Some(focused) => focus(entries, focused),
            None => entries,
        };
        if kept.is_empty() {
            return;
        }
        let mut tree = Tree::new(thread.name.to_string(), kept, counts_only);
        tree.thread = index as u32;
        tree.id = thread.id;
        tree.kind = thread.kind;
        tree.cpu_ns = thread.cpu_ns;
        tree.only_waited = only_waited;
        tree.whole = whole;
        self.trees.push(tree);
    }

    /// Returns whether the number of all calls is a lower bound.
    pub(crate) fn calls_are_least(&self) -> bool {
        let mut counted = self.method_calls.iter();
        counted.any(|counted| counted.until_ns.is_some())
            || !self.is_sampled() && !self.counted_until.is_empty()
            || self.method_calls.len() < self.profile.method_calls.len()
                && !self.counted_since.is_empty()
    }

    /// Returns a method's name for people, with the number of its loaders.
    pub(crate) fn shown(&self, method: u32) -> String {
        let loaders = self.methods[method as usize].loaders;
        format!("{}{}", self.names[method as usize], in_loaders(loaders))
    }

    /// Returns the number of threads with its noun. A tree of ended or virtual threads, or of
    /// merged profiles, can stand for several threads, and is called a group.
    pub(crate) fn threads(&self) -> String {
        let trees = self.trees.len();
        let are_single = self.trees.iter().all(|tree| tree.id.is_some());
        let text = match (trees, are_single) {
            (1, true) => "thread",
            (1, false) => "thread or group",
            (_, true) => "threads",
            (_, false) => "threads and groups",
        };
        format!("{trees} {text}")
    }

    /// Returns the number of objects of unknown size.
    pub(crate) fn unsized_objects(&self) -> f64 {
        match self.quantity {
            Quantity::Time => 0.0,
            Quantity::Bytes => {
                // Objects are at leaves: types have no callees.
                let types = self.trees.iter().flat_map(Tree::leaves);
                let of_type = |entry: &Entry| {
                    let Weight {
                        count, known_count, ..
                    } = entry.weight;
                    count.saturating_sub(known_count) as f64
                };
                types.map(of_type).sum()
            }
        }
    }

    /// Returns the column title of counts.
    pub(crate) fn count_title(&self) -> &'static str {
        match self.quantity {
            Quantity::Time if self.is_sampled() => "samples",
            Quantity::Time if self.is_of_calls => "calls",
            Quantity::Time => "waits",
            Quantity::Bytes => "objects",
        }
    }

    /// Returns whether nodes are calls, and not allocations or waits for locks.
    pub(crate) fn is_of_calls(&self) -> bool {
        self.is_of_calls
    }

    /// Returns whether there are counts and no weights.
    pub(crate) fn counts_only(&self) -> bool {
        self.is_of_calls && self.profile.header.timing == Timing::Count
    }

    /// Returns whether times come from samples.
    pub(crate) fn is_sampled(&self) -> bool {
        self.is_of_calls && self.profile.header.timing == Timing::Sampled
    }

    /// Returns `part` of the whole, in percent.
    pub(crate) fn percent(&self, part: f64) -> f64 {
        if self.whole > 0.0 {
            100.0 * part / self.whole
        } else {
            0.0
        }
    }

    /// Returns all trees merged into one: nodes with the same path become one.
    pub(crate) fn overlaid(&self) -> Tree {
        Tree::overlaid(&self.trees, self.counts_only())
    }

    /// Returns a row for each method that was called or sampled, summed over all calling contexts.
    pub(crate) fn rows(&self, sort: Sort) -> Vec<Row> {
        let mut rows = self.empty_rows();
        for tree in &self.trees {
            add_tree(&mut rows, tree);
        }
        if self.is_sampled() {
            rows.iter_mut().for_each(Row::count_samples);
        }
        for counted in &self.method_calls {
            rows[counted.method as usize].add_calls(counted);
        }
        rows.retain(Row::is_shown);
        self.sort(&mut rows, sort);
        rows
    }

    /// Returns, for each tree in [`View::trees`], the rows of its methods, in the order of the
    /// methods' numbers.
    pub(crate) fn rows_by_tree(&self) -> Vec<Vec<Row>> {
        // One table is reused for all trees, because it has a row for every method of the profile.
        let mut rows = self.empty_rows();
        let rows_of = |tree: &Tree| {
            add_tree(&mut rows, tree);
            let mut methods: Vec<u32> = tree.entries.iter().map(|entry| entry.method).collect();
            methods.sort_unstable();
            methods.dedup();
            let taken = methods.into_iter().map(|method| {
                std::mem::replace(&mut rows[method as usize], self.empty_row(method))
            });
            taken.filter(Row::is_shown).collect()
        };
        self.trees.iter().map(rows_of).collect()
    }

    fn empty_rows(&self) -> Vec<Row> {
        (0..self.methods.len() as u32)
            .map(|method| self.empty_row(method))
            .collect()
    }

    fn empty_row(&self, method: u32) -> Row {
        let mut row = Row::empty(method, self.is_sampled());
        row.counted_since_ns = self.counted_since.get(&method).copied();
        row.counted_until_ns = self.counted_until.get(&method).copied();
        row
    }

    fn sort(&self, rows: &mut [Row], sort: Sort) {
        let name = |row: &Row| &self.names[row.method as usize];
        let key = |row: &Row| match sort {
            Sort::SelfTime if self.measure == Measure::Time => row.sure_own(),
            Sort::SelfTime => row.own,
            Sort::Total => row.total,
            Sort::Calls => row.count as f64,
            Sort::Mean => row.mean().unwrap_or(0.0),
            Sort::P99 => self.latencies.get(&row.method).map_or(-1.0, Latency::p99),
            Sort::Name => 0.0,
        };
        rows.sort_by(|a, b| {
            let by_key = key(b).total_cmp(&key(a));
            let by_value = match sort {
                Sort::SelfTime => by_key.then(b.own.total_cmp(&a.own)),
                _ => by_key,
            };
            // If nothing was timed, counts give the order.
            let by_count = if sort == Sort::Name {
                Ordering::Equal
            } else {
                b.count.cmp(&a.count)
            };
            by_value.then(by_count).then_with(|| name(a).cmp(name(b)))
        });
    }
}

fn is_chosen(thread: &ThreadTree, options: &Options<'_>) -> bool {
    options.thread.is_none_or(|wanted| wanted(&thread.name))
}

fn call_entries(thread: &ThreadTree, header: &Header, counting: &CountingCosts) -> Vec<Entry> {
    let figures = figures(&thread.nodes, header, counting);
    let is_sampled = header.timing == Timing::Sampled;
    let samples = is_sampled.then(|| samples_below(&thread.nodes));
    let nodes = thread.nodes.iter().zip(&figures).enumerate();
    let entry = |(at, (node, figure)): (usize, (&Node, &Figure))| Entry {
        parent: node.parent,
        method: node.method,
        weight: Weight::of_calls(node, figure, samples.as_ref().map(|samples| samples[at])),
        below: 0.0,
    };
    nodes.map(entry).collect()
}

/// Returns, for each node, the number of samples that met it or a callee. The JVM's own threads are
/// not sampled: their processor time is read, and counts as one sample.
fn samples_below(nodes: &[Node]) -> Vec<u64> {
    let is_read = |node: &Node| node.timed == 0 && node.all_ns > node.child_ns;
    let own = |node: &Node| node.timed + u64::from(is_read(node));
    let mut samples: Vec<u64> = nodes.iter().map(own).collect();
    for (at, node) in nodes.iter().enumerate().rev() {
        if let Some(parent) = node.parent {
            samples[parent as usize] = samples[parent as usize].saturating_add(samples[at]);
        }
    }
    samples
}

fn allocation_entries(nodes: &[AllocationNode]) -> Vec<Entry> {
    let pairs = nodes.iter().zip(weights(nodes));
    let entry = |(node, weight): (&AllocationNode, Weight)| Entry {
        parent: node.parent,
        method: node.method,
        weight,
        below: 0.0,
    };
    pairs.map(entry).collect()
}
