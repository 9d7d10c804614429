//! The tables on the screen: columns of numbers, then a name.

use std::cmp::Ordering;

use loadhook_profile::ThreadKind;
use loadhook_profile::Waiting;
use loadhook_profile::analysis::picture::{Calls, MethodFigures, PlaceFigures, ThreadFigures};
use loadhook_text::units::{decimal, time};
use loadhook_text::{bytes, clipped, count};

use super::model::Model;

/// A column of numbers.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) width: usize,
}

/// The sign for a number that is not known.
const UNKNOWN: &str = "–";

/// A table, with the figures of its rows.
pub(super) trait Rows {
    fn columns(&self) -> &'static [Column];
    /// Returns the title of the column of names.
    fn title(&self) -> String;
    fn len(&self) -> usize;
    fn name(&self, row: usize) -> &str;
    /// Returns the value by which a row is sorted, the largest first.
    fn number(&self, row: usize, column: usize) -> f64;
    fn cell(&self, row: usize, column: usize) -> String;
    /// Returns the method of a row, as an index into the picture's names.
    fn method(&self, row: usize) -> Option<u32>;
    /// Returns false if the rows have a fixed order, such as a call tree's.
    fn can_sort(&self) -> bool {
        true
    }
    /// Returns the text that is shown if there are no rows.
    fn nothing(&self) -> &'static str {
        "nothing in this interval"
    }
    /// Returns the text before a row's name. Unlike the name, it is never shortened.
    fn lead(&self, _row: usize) -> String {
        String::new()
    }
    /// Returns `lead` and `name` together: filters search in it, and the cursor follows it.
    fn label(&self, row: usize) -> String {
        self.lead(row) + self.name(row)
    }
}

/// Returns the rows whose labels contain `filter`, sorted by `column`. A number beyond the last column of numbers sorts
/// by names.
pub(super) fn order(rows: &dyn Rows, filter: &str, column: usize, is_reversed: bool) -> Vec<usize> {
    let wanted = filter.to_lowercase();
    let is_kept =
        |row: &usize| wanted.is_empty() || rows.label(*row).to_lowercase().contains(&wanted);
    let mut order: Vec<usize> = (0..rows.len()).filter(is_kept).collect();
    if !rows.can_sort() {
        return order;
    }
    let is_by_name = column >= rows.columns().len();
    // Rows of equal values stay in the picture's order.
    order.sort_by(|a, b| {
        let order = if is_by_name {
            rows.name(*a).cmp(rows.name(*b))
        } else {
            rows.number(*b, column).total_cmp(&rows.number(*a, column))
        };
        if is_reversed { order.reverse() } else { order }
    });
    order
}

/// Formats a value per second: with one decimal below 100, as a whole number from there on.
fn rate(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        ..99.95 => decimal(value, 1),
        _ => count(value.round() as u64),
    }
}

fn percent(value: f64) -> String {
    decimal(value, 1)
}

fn known(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or(UNKNOWN.to_owned(), text)
}

fn named(model: &Model, method: u32) -> &str {
    let name = model.picture.names.get(method as usize);
    name.map_or("", String::as_str)
}

/// Methods, in all their calling contexts.
pub(super) struct Methods<'m>(pub(super) &'m Model);

/// The column with bars for the values of the last intervals.
pub(super) const BARS: Column = Column {
    title: "last",
    width: 8,
};

const METHODS: [Column; 5] = [
    Column {
        title: "calls/s",
        width: 11,
    },
    Column {
        title: "self %",
        width: 7,
    },
    Column {
        title: "total %",
        width: 8,
    },
    Column {
        title: "mean",
        width: 9,
    },
    BARS,
];

/// The column of self times, by which methods are sorted at first.
pub(super) const SELF: usize = 1;

impl Methods<'_> {
    fn at(&self, row: usize) -> Option<&MethodFigures> {
        self.0.picture.methods.get(row)
    }

    fn value(&self, row: usize, column: usize) -> Option<f64> {
        let figures = self.at(row)?;
        match column {
            0 => Some(self.0.per_second(figures.calls? as f64)),
            1 => Some(self.0.percent(figures.self_ns?)),
            2 => Some(self.0.percent(figures.total_ns?)),
            3 => figures.mean_ns,
            _ => Some(self.0.recent.get(row)?.iter().sum()),
        }
    }
}

impl Rows for Methods<'_> {
    fn columns(&self) -> &'static [Column] {
        &METHODS
    }

    fn title(&self) -> String {
        "method".to_owned()
    }

    fn len(&self) -> usize {
        self.0.picture.methods.len()
    }

    fn name(&self, row: usize) -> &str {
        self.at(row)
            .map_or("", |figures| named(self.0, figures.method))
    }

    fn number(&self, row: usize, column: usize) -> f64 {
        self.value(row, column).unwrap_or(-1.0)
    }

    fn cell(&self, row: usize, column: usize) -> String {
        match column {
            0 => known(self.value(row, 0), rate),
            3 => known(self.value(row, 3), time),
            4 => bars(
                self.0.recent.get(row).map_or(&[], Vec::as_slice),
                BARS.width,
            ),
            column => known(self.value(row, column), percent),
        }
    }

    fn method(&self, row: usize) -> Option<u32> {
        Some(self.at(row)?.method)
    }
}

/// Draws the last `width` values as bars. The largest of these values has the full height.
fn bars(values: &[f64], width: usize) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let last = values.get(values.len().saturating_sub(width)..);
    let last = last.unwrap_or_default();
    let most = last.iter().copied().fold(0.0, f64::max);
    let bar = |value: &f64| {
        if *value <= 0.0 {
            return ' ';
        }
        let height = (7.0 * value / most).round() as usize;
        HEIGHTS.get(height).copied().unwrap_or('█')
    };
    last.iter().map(bar).collect()
}

/// Threads and groups of threads.
pub(super) struct Threads<'m>(pub(super) &'m Model);

const THREADS: [Column; 3] = [
    Column {
        title: "CPU %",
        width: 7,
    },
    Column {
        title: "waiting %",
        width: 10,
    },
    Column {
        title: "state",
        width: 10,
    },
];

impl Threads<'_> {
    fn at(&self, row: usize) -> Option<&ThreadFigures> {
        self.0.picture.threads.get(row)
    }

    /// Converts nanoseconds to percent of the interval.
    fn share(&self, ns: f64) -> f64 {
        100.0 * self.0.per_second(ns) / 1e9
    }
}

/// Returns the state in which a thread spent the largest part of the interval.
fn state(thread: &ThreadFigures) -> &'static str {
    let reasons = Waiting::REASONS.iter().zip(thread.waiting.parts());
    let waits = reasons.map(|(reason, ns)| match *reason {
        "other" => ("waiting", ns as f64),
        reason => (reason, ns as f64),
    });
    let running = thread.running_ns.unwrap_or(0.0);
    let all = [("running", running)].into_iter().chain(waits);
    let most = all.max_by(|(_, a), (_, b)| a.total_cmp(b));
    most.filter(|(_, ns)| *ns > 0.0)
        .map_or(UNKNOWN, |(state, _)| state)
}

impl Rows for Threads<'_> {
    fn columns(&self) -> &'static [Column] {
        &THREADS
    }

    fn title(&self) -> String {
        "thread".to_owned()
    }

    fn len(&self) -> usize {
        self.0.picture.threads.len()
    }

    fn name(&self, row: usize) -> &str {
        self.at(row).map_or("", |thread| &thread.name)
    }

    fn number(&self, row: usize, column: usize) -> f64 {
        let Some(thread) = self.at(row) else {
            return 0.0;
        };
        match column {
            0 => thread.running_ns.unwrap_or(-1.0),
            1 => thread.waiting.total_ns() as f64,
            // The bytes of the state's name as a number: rows of the same state stand together.
            _ => state(thread)
                .bytes()
                .fold(0.0, |sum, byte| 256.0 * sum + f64::from(byte)),
        }
    }

    fn cell(&self, row: usize, column: usize) -> String {
        let Some(thread) = self.at(row) else {
            return String::new();
        };
        match column {
            0 => known(thread.running_ns, |ns| percent(self.share(ns))),
            1 => percent(self.share(thread.waiting.total_ns() as f64)),
            _ => state(thread).to_owned(),
        }
    }

    fn method(&self, _row: usize) -> Option<u32> {
        None
    }

    fn lead(&self, row: usize) -> String {
        match self.at(row).map(|thread| thread.kind) {
            Some(ThreadKind::Ended) => "ended: ".to_owned(),
            _ => String::new(),
        }
    }
}

/// The call tree of all threads.
pub(super) struct Tree<'m>(pub(super) &'m Model);

const TREE: [Column; 2] = [
    Column {
        title: "total %",
        width: 8,
    },
    Column {
        title: "self %",
        width: 7,
    },
];

/// Maximum number of columns by which a name is indented.
const DEEPEST: u32 = 30;

impl Rows for Tree<'_> {
    fn columns(&self) -> &'static [Column] {
        &TREE
    }

    fn title(&self) -> String {
        "call tree of all threads".to_owned()
    }

    fn len(&self) -> usize {
        self.0.picture.tree.len()
    }

    fn name(&self, row: usize) -> &str {
        let branch = self.0.picture.tree.get(row);
        branch.map_or("", |branch| named(self.0, branch.method))
    }

    fn number(&self, row: usize, column: usize) -> f64 {
        let branch = self.0.picture.tree.get(row);
        branch.map_or(0.0, |branch| match column {
            0 => branch.total,
            _ => branch.own,
        })
    }

    fn cell(&self, row: usize, column: usize) -> String {
        percent(self.0.percent(self.number(row, column)))
    }

    fn method(&self, row: usize) -> Option<u32> {
        Some(self.0.picture.tree.get(row)?.method)
    }

    fn can_sort(&self) -> bool {
        false
    }

    fn lead(&self, row: usize) -> String {
        let depth = self
            .0
            .picture
            .tree
            .get(row)
            .map_or(0, |branch| branch.depth);
        if depth <= DEEPEST {
            " ".repeat(depth as usize)
        } else {
            let deeper = format!("+{} ", depth - DEEPEST);
            format!("{}{deeper}", " ".repeat(DEEPEST as usize))
        }
    }
}

/// Places that allocate.
pub(super) struct Allocations<'m>(pub(super) &'m Model);

const ALLOCATIONS: [Column; 3] = [
    Column {
        title: "bytes/s",
        width: 10,
    },
    Column {
        title: "objects/s",
        width: 11,
    },
    Column {
        title: "alive",
        width: 10,
    },
];

/// Maximum width of a type. It leaves room for the place.
const WIDEST_TYPE: usize = 24;

impl Allocations<'_> {
    fn all(&self) -> &[PlaceFigures] {
        self.0.picture.allocations.as_deref().unwrap_or_default()
    }

    /// Splits the name of a row into type and place, which two blanks separate.
    fn type_and_place(&self, row: usize) -> (&str, &str) {
        let name = self.all().get(row).map_or("", |place| &place.name);
        name.split_once("  ").unwrap_or(("", name))
    }

    fn value(&self, row: usize, column: usize) -> Option<f64> {
        let place = self.all().get(row)?;
        match column {
            0 => place.bytes.map(|bytes| self.0.per_second(bytes)),
            1 => Some(self.0.per_second(place.objects)),
            _ => place.live_bytes,
        }
    }
}

impl Rows for Allocations<'_> {
    fn columns(&self) -> &'static [Column] {
        &ALLOCATIONS
    }

    fn title(&self) -> String {
        "type and place".to_owned()
    }

    fn nothing(&self) -> &'static str {
        if self.0.picture.allocations.is_some() {
            "no allocations in this interval"
        } else {
            "allocations are not recorded; for them, start loadhook top with --alloc sampled"
        }
    }

    fn len(&self) -> usize {
        self.all().len()
    }

    fn name(&self, row: usize) -> &str {
        self.type_and_place(row).1
    }

    fn lead(&self, row: usize) -> String {
        format!("{}  ", clipped(self.type_and_place(row).0, WIDEST_TYPE))
    }

    fn number(&self, row: usize, column: usize) -> f64 {
        self.value(row, column).unwrap_or(-1.0)
    }

    fn cell(&self, row: usize, column: usize) -> String {
        let value = self.value(row, column);
        match column {
            1 => known(value, rate),
            _ => known(value, |number| bytes(number.round() as u64)),
        }
    }

    fn method(&self, row: usize) -> Option<u32> {
        self.all().get(row)?.method
    }
}

/// The callers and callees of a method.
pub(super) struct Neighbours<'m> {
    model: &'m Model,
    name: String,
    callers: Vec<Calls>,
    callees: Vec<Calls>,
}

const NEIGHBOURS: [Column; 2] = [
    Column {
        title: "total %",
        width: 8,
    },
    Column {
        title: "count",
        width: 11,
    },
];

impl<'m> Neighbours<'m> {
    /// Collects the calls from and to the method of this name. There are none if the method is not in the interval.
    pub(super) fn new(model: &'m Model, name: &str) -> Neighbours<'m> {
        let sorted = |is_it: &dyn Fn(&Calls) -> bool| {
            let all = model.picture.calls.iter().copied();
            let mut calls: Vec<Calls> = all.filter(is_it).collect();
            let weight = |calls: &Calls| (calls.total_ns.unwrap_or(0.0), calls.count);
            calls.sort_by(|a, b| weight(b).partial_cmp(&weight(a)).unwrap_or(Ordering::Equal));
            calls
        };
        let is_named = |method: u32| named(model, method) == name;
        Neighbours {
            model,
            name: name.to_owned(),
            callers: sorted(&|calls: &Calls| is_named(calls.callee)),
            callees: sorted(&|calls: &Calls| calls.caller.is_some_and(is_named)),
        }
    }

    fn at(&self, row: usize) -> Option<&Calls> {
        self.callers.iter().chain(&self.callees).nth(row)
    }

    /// Returns the caller of a row of `callers`, or the callee of a row of `callees`.
    fn other(&self, row: usize) -> Option<u32> {
        let calls = self.at(row)?;
        if row < self.callers.len() {
            calls.caller
        } else {
            Some(calls.callee)
        }
    }
}

impl Rows for Neighbours<'_> {
    fn columns(&self) -> &'static [Column] {
        &NEIGHBOURS
    }

    fn title(&self) -> String {
        format!("callers (←) and callees (→) of {}", self.name)
    }

    fn len(&self) -> usize {
        self.callers.len() + self.callees.len()
    }

    fn name(&self, row: usize) -> &str {
        match self.other(row) {
            Some(method) => named(self.model, method),
            None => "(the start of a thread)",
        }
    }

    fn number(&self, row: usize, column: usize) -> f64 {
        self.at(row).map_or(0.0, |calls| match column {
            0 => calls.total_ns.unwrap_or(-1.0),
            _ => calls.count as f64,
        })
    }

    fn cell(&self, row: usize, column: usize) -> String {
        let Some(calls) = self.at(row) else {
            return String::new();
        };
        match column {
            0 => known(calls.total_ns, |ns| percent(self.model.percent(ns))),
            _ => count(calls.count),
        }
    }

    fn method(&self, row: usize) -> Option<u32> {
        self.other(row)
    }

    fn can_sort(&self) -> bool {
        false
    }

    fn lead(&self, row: usize) -> String {
        let arrow = if row < self.callers.len() {
            "← "
        } else {
            "→ "
        };
        arrow.to_owned()
    }
}
