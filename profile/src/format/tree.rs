//! The calling-context tree as text.

use std::io::{self, Write};

use super::units::{self, UNKNOWN, Unit};
use super::{FEW_NOTES, Options};
use crate::model::Profile;
use crate::names::printable;
use crate::places::unsized_remarks;
use crate::view::{Entry, Step, View, mark};

/// Writes the tree of all chosen threads together. Branches below
/// [`Options::min_percent`] are left out and counted at the end.
pub(super) fn write(
    profile: &Profile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let view = View::new(profile, options);
    let tree = view.merged();
    let columns = Columns::new(&view, &tree.entries);
    let heaviest = heaviest(&view, &tree.entries);
    let shown = |at: &u32| heaviest[*at as usize] >= options.min_percent;
    let last = |of: Option<u32>| tree.children(of).filter(shown).last();
    columns.head(out)?;
    // The last shown root, then the last shown callee of each node entered.
    let mut lasts = vec![last(None)];
    let mut open: Vec<bool> = Vec::new();
    let mut left_out = 0;
    let mut written = Ok(());
    tree.walk(|step| {
        match step {
            Step::Enter(at) if !shown(&at) => {
                left_out += 1;
                lasts.push(None);
                open.push(false);
                return false;
            }
            Step::Enter(at) => {
                open.push(lasts.last() != Some(&Some(at)));
                lasts.push(last(Some(at)));
                if written.is_ok() {
                    written = columns.line(&tree.entries[at as usize], &branch(&open), out);
                }
            }
            Step::Leave(_) => {
                lasts.pop();
                open.pop();
            }
        }
        true
    });
    written?;
    if left_out > 0 {
        let (branches, percent) = (units::count(left_out), options.min_percent);
        writeln!(out, "branches below {percent} % left out: {branches}")?;
    }
    for remark in unsized_remarks(view.unsized_objects()) {
        writeln!(out, "{remark}")?;
    }
    // That paths end early, among them.
    let notes = profile.header.all_notes().take(FEW_NOTES);
    notes
        .map(printable)
        .try_for_each(|note| writeln!(out, "{note}"))
}

/// By entry what decides whether it is shown: the most of what its line and
/// those below it say, in percent. A recursive method's total can be many times
/// what is below it, since the methods that it calls go back to nodes above it.
/// Where no time is known the share of all calls stands for it.
fn heaviest(view: &View<'_>, entries: &[Entry]) -> Vec<f64> {
    let calls: f64 = entries.iter().map(|entry| entry.calls as f64).sum();
    let own = |entry: &Entry| match entry.figure.whole_ns() {
        Some(total) => view.percent(entry.below.max(total)),
        None => 100.0 * entry.calls as f64 / calls,
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

/// The lines before a name: whether siblings of it and of its callers follow.
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

/// The numbers before the tree.
struct Columns<'v, 'p> {
    view: &'v View<'p>,
    unit: Unit,
}

impl<'v, 'p> Columns<'v, 'p> {
    fn new(view: &'v View<'p>, entries: &[Entry]) -> Self {
        let totals = entries.iter().map(|entry| entry.figure.total_ns);
        let unit = Unit::for_largest(totals.fold(0.0, f64::max), view.quantity());
        Columns { view, unit }
    }

    fn head(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.view.counts_only() {
            return writeln!(out, "{:>7} {:>15}  method", "calls %", "calls");
        }
        let [total, own] = ["total", "self"].map(|title| format!("{title}, {}", self.unit.name));
        let (share, calls) = ("total %", self.view.calls_word());
        writeln!(out, "{share:>7} {total:>12} {own:>12} {calls:>15}  method")
    }

    fn line(&self, entry: &Entry, branch: &str, out: &mut dyn Write) -> io::Result<()> {
        let name = &self.view.names[entry.method as usize];
        let calls = units::count(entry.calls);
        if self.view.counts_only() {
            let share = self.view.percent(entry.below);
            return writeln!(out, "{share:>6.1}% {calls:>15}  {branch}{name}");
        }
        let least = mark(false, entry.is_partial());
        let estimated = if entry.figure.estimated { "~" } else { "" };
        let whole = entry.figure.whole_ns();
        let number = |ns| format!("{least}{estimated}{}", self.unit.number(ns));
        let [total, own] =
            [whole, entry.figure.own_ns()].map(|ns| ns.map_or(UNKNOWN.to_owned(), number));
        let share = |ns| format!("{:.1}%", self.view.percent(ns));
        let share = whole.map_or(UNKNOWN.to_owned(), share);
        writeln!(
            out,
            "{share:>7} {total:>12} {own:>12} {calls:>15}  {branch}{name}"
        )
    }
}
