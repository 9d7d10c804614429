//! The calling-context tree as text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::bounds::{
    COUNTED, calls_mark, counted_only, counted_until, lost_probes, mark, without_later,
};
use super::notes::{FEW_NOTES, write_sentences};
use super::table::columns::{Column, NARROWEST_NAME, fitted, name_width, text_table};
use super::table::methods::nothing;
use super::table::sampled::waiting_text;
use crate::analysis::method_rows::waiting_below;
use crate::analysis::options::Options;
use crate::analysis::tree::{Entry, Step, Tree};
use crate::analysis::view::View;
use crate::format::allocation_text::unsized_remarks;
use crate::model::Profile;
use loadhook_text::java::shorten;
use loadhook_text::units::{self, UNKNOWN, Unit};

/// Writes the tree of all chosen threads together. The tree shows the [`Options::top`] heaviest nodes; without that
/// option, all nodes from [`Options::min_percent`] on. The last line has the number of omitted nodes.
pub(super) fn write(
    profile: &Profile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let view = View::of_working_threads(profile, options);
    let tree = view.overlaid();
    let shown = shown(&heaviest(&view, &tree.entries), options);
    let lines = lines(&tree, &shown);
    if tree.entries.is_empty() {
        writeln!(out, "{}", nothing(&view, options))?;
    } else if !lines.is_empty() {
        let full: Vec<String> = lines
            .iter()
            .map(|line| line.branch.clone() + &line.name(&view) + &line.lost_probes(&view))
            .collect();
        let columns = fitted(columns(&view, &lines), &full, options.width);
        let room = name_width(&columns, options.width);
        let names: Vec<String> = lines.iter().map(|line| line.fitted(&view, room)).collect();
        text_table(&columns, "method", &names, options.width, out)?;
        if lines.iter().any(|line| line.is_too_deep(&view, room)) {
            let deep = "N… stands for N levels above a call that do not fit into the width";
            write_sentences([deep], options.width, out)?;
        }
        write_sentences(marks(&view, &lines), options.width, out)?;
    }
    let omitted = tree.entries.len() - lines.len();
    if omitted > 0 {
        let omitted = omitted as u64;
        let omitted = match options.top {
            Some(top) => format!(
                "{} omitted (--top {top})",
                units::counted(omitted, "lighter node", "lighter nodes")
            ),
            None => format!(
                "{} below {} % omitted (--top N shows the N heaviest)",
                units::counted(omitted, "node", "nodes"),
                options.min_percent
            ),
        };
        write_sentences([omitted], options.width, out)?;
    }
    write_sentences(view.waiting.line(), options.width, out)?;
    write_sentences(unsized_remarks(view.unsized_objects()), options.width, out)?;
    // The notes are part of the tree, because one may say that paths end early.
    let notes = profile.header.all_notes().take(FEW_NOTES);
    write_sentences(notes, options.width, out)
}

/// Returns for each entry whether it is shown. No entry is heavier than its caller, so the callers
/// of a shown entry are shown too.
fn shown(heaviest: &[f64], options: &Options<'_>) -> Vec<bool> {
    let Some(top) = options.top else {
        let is_heavy = |weight: &f64| *weight >= options.min_percent;
        return heaviest.iter().map(is_heavy).collect();
    };
    let mut order: Vec<usize> = (0..heaviest.len()).collect();
    // The sort is stable: a caller stays before a callee of the same weight.
    order.sort_by(|a, b| heaviest[*b].total_cmp(&heaviest[*a]));
    let mut shown = vec![false; heaviest.len()];
    for at in order.into_iter().take(top) {
        shown[at] = true;
    }
    shown
}

/// A line of the tree.
struct Line<'t> {
    entry: &'t Entry,
    /// The branch lines from the caller to the name.
    branch: String,
    depth: usize,
    /// Nanoseconds for which threads waited here and below.
    waiting: f64,
}

impl Line<'_> {
    fn name(&self, view: &View<'_>) -> String {
        view.shown(self.entry.method)
    }

    /// Returns the text after the name of a method that lost probes while the program ran; else empty.
    fn lost_probes(&self, view: &View<'_>) -> String {
        let [since, until] = moments(view, self.entry);
        let lost = lost_probes(since, until);
        lost.map_or(String::new(), |lost| format!(" ({lost})"))
    }

    /// Returns whether the branch lines leave too few of `room` columns for the
    /// name.
    fn is_too_deep(&self, view: &View<'_>, room: usize) -> bool {
        self.branch.width() + self.name(view).width().min(NARROWEST_NAME) > room
    }

    /// Returns branch and name in `room` columns. If the branch leaves too little for the name, the
    /// number of its levels replaces it.
    fn fitted(&self, view: &View<'_>, room: usize) -> String {
        let branch = if self.is_too_deep(view, room) {
            Cow::Owned(format!("{}… ", self.depth - 1))
        } else {
            Cow::Borrowed(&*self.branch)
        };
        let left = room.saturating_sub(branch.width());
        let behind = self.lost_probes(view);
        match left.checked_sub(behind.width()) {
            Some(left) if left >= NARROWEST_NAME => {
                format!("{branch}{}{behind}", shorten(&self.name(view), left))
            }
            _ => format!("{branch}{}", shorten(&self.name(view), left)),
        }
    }
}

/// Returns the times at which the method of an entry lost its timing probes and its last probe. In a tree of samples
/// these methods have all their samples, so they are not marked.
fn moments(view: &View<'_>, entry: &Entry) -> [Option<u64>; 2] {
    let of = |moments: &HashMap<u32, u64>| moments.get(&entry.method).copied();
    match view.is_sampled() {
        true => [None, None],
        false => [of(&view.counted_since), of(&view.counted_until)],
    }
}

/// Returns the mark of the times of an entry. A method that lost its timing probes has other calls on this path, maybe,
/// which are not timed.
fn time_mark(view: &View<'_>, entry: &Entry) -> &'static str {
    let has_lost_probes = moments(view, entry).iter().any(Option::is_some);
    mark(false, entry.weight.is_partial() || has_lost_probes)
}

/// Returns the explanations of the marks before calls.
fn marks(view: &View<'_>, lines: &[Line<'_>]) -> Vec<String> {
    let moments = lines.iter().map(|line| moments(view, line.entry));
    let since = moments.clone().filter_map(|it| match it {
        [since, None] => since,
        _ => None,
    });
    let until = moments.filter_map(|[_, until]| until).min();
    let counted = counted_only(since);
    let without_later = counted.is_some().then(|| without_later(COUNTED));
    let until = until.map(|first| counted_until(first, false));
    [counted, without_later, until]
        .into_iter()
        .flatten()
        .collect()
}

/// Returns the lines of the shown entries, callers before callees.
fn lines<'t>(tree: &'t Tree, shown: &[bool]) -> Vec<Line<'t>> {
    let is_shown = |at: &u32| shown[*at as usize];
    let waiting = waiting_below(tree);
    let last = |of: Option<u32>| tree.children(of).filter(is_shown).last();
    let mut lines = Vec::new();
    // The last shown root, then the last shown callee of each node on the path.
    let mut lasts = vec![last(None)];
    let mut open: Vec<bool> = Vec::new();
    tree.walk(|step| {
        match step {
            Step::Enter(at) if !is_shown(&at) => {
                lasts.push(None);
                open.push(false);
                return false;
            }
            Step::Enter(at) => {
                open.push(lasts.last() != Some(&Some(at)));
                lasts.push(last(Some(at)));
                lines.push(Line {
                    entry: &tree.entries[at as usize],
                    branch: branch(&open),
                    depth: open.len(),
                    waiting: waiting.as_ref().map_or(0.0, |waiting| waiting[at as usize]),
                });
            }
            Step::Leave(_) => {
                lasts.pop();
                open.pop();
            }
        }
        true
    });
    lines
}

/// Returns, for each entry, the largest percentage on its line and on the lines below it. This percentage decides
/// whether the entry is shown. A recursive method's total can be many times the weight below it, because its callees
/// call nodes above it. If no time is known, the percentage is the share of the calls.
fn heaviest(view: &View<'_>, entries: &[Entry]) -> Vec<f64> {
    let calls: f64 = entries.iter().map(|entry| entry.weight.count as f64).sum();
    let own = |entry: &Entry| match entry.weight.some_total() {
        Some(total) => view.percent(entry.below.max(total)),
        None => 100.0 * entry.weight.count as f64 / calls,
    };
    let mut heaviest: Vec<f64> = entries.iter().map(own).collect();
    for (at, entry) in entries.iter().enumerate().rev() {
        if let Some(parent) = entry.parent {
            let parent = parent as usize;
            heaviest[parent] = heaviest[parent].max(heaviest[at]);
        }
    }
    heaviest
}

/// Returns the branch lines before a name. `open` has an entry for each caller and, at its end, for
/// the name itself: true if a sibling follows.
fn branch(open: &[bool]) -> String {
    let mut text = String::new();
    let Some((own, callers)) = open.get(1..).and_then(<[bool]>::split_last) else {
        return text;
    };
    for more in callers {
        text.push_str(if *more { "│ " } else { "  " });
    }
    text.push_str(if *own { "├ " } else { "└ " });
    text
}

/// Returns the columns of numbers before the tree. If there is no room, totals are dropped first,
/// because the percentages contain the same information.
fn columns(view: &View<'_>, lines: &[Line<'_>]) -> Vec<Column> {
    let cells = |cell: &dyn Fn(&Entry) -> String| {
        let cells = lines.iter().map(|line| cell(line.entry));
        cells.collect::<Vec<_>>()
    };
    let calls = cells(&|entry| {
        let [since, until] = moments(view, entry);
        let mark = calls_mark(since, until, true);
        format!("{mark}{}", units::count(entry.weight.count))
    });
    if view.counts_only() {
        let share = |entry: &Entry| format!("{:.1} %", view.percent(entry.below));
        return vec![
            Column::new("calls %", 0, cells(&share)),
            Column::new("calls", 0, calls),
        ];
    }
    let is_sampled = view.is_sampled();
    let totals = lines.iter().map(|line| line.entry.weight.total);
    let unit = Unit::for_largest(totals.fold(0.0, f64::max), view.quantity);
    let time = |entry: &Entry, time: Option<f64>| {
        let least = time_mark(view, entry);
        let is_marked = entry.weight.is_estimated && !is_sampled;
        let estimated = if is_marked { "~" } else { "" };
        let number = |ns| format!("{least}{estimated}{}", unit.number(ns));
        time.map_or(UNKNOWN.to_owned(), number)
    };
    let share = |entry: &Entry| {
        let share = |ns| format!("{:.1} %", view.percent(ns));
        entry.weight.some_total().map_or(UNKNOWN.to_owned(), share)
    };
    let total = |entry: &Entry| time(entry, entry.weight.some_total());
    let own = |entry: &Entry| time(entry, entry.weight.known_own());
    let title = |title: &str| format!("{title}, {}", unit.name);
    let mut columns = vec![
        Column::new("total %", 0, cells(&share)),
        Column::new(&title("total"), 2, cells(&total)),
        Column::new(&title("self"), 1, cells(&own)),
    ];
    let waiting = lines.iter().map(|line| waiting_text(line.waiting));
    let waiting = Column::new("waiting", 3, waiting.collect());
    columns.extend(Some(waiting).filter(Column::has_text));
    columns.push(Column::new(view.count_title(), 0, calls));
    columns
}
