//! The tables of locks: the places where threads waited for locks that other threads held, and the
//! holders.

use std::collections::HashMap;
use std::io::{self, Write};

use super::columns::{Column, text_table, with_types};
use crate::analysis::allocation_places::place_name;
use crate::analysis::lock_places::{CodePlace, LockPlace, WaitSum, lock_places};
use crate::analysis::method_names::names;
use crate::analysis::options::Options;
use crate::model::{Locks, Profile, WaitKind};
use loadhook_text::java::simple_type_names;
use loadhook_text::printable;
use loadhook_text::units;
use loadhook_text::width::joined;

/// Writes both tables.
pub(super) fn write(
    profile: &Profile,
    locks: &Locks,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (contended, others): (Vec<_>, Vec<_>) = lock_places(profile, locks, options)
        .into_iter()
        .partition(|row| row.kind.is_contention());
    let methods = names(&profile.methods);
    let whole = sum(contended.iter());
    writeln!(
        out,
        "{}",
        joined(&facts(&contended, &others), options.width)
    )?;
    if contended.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    waited(&contended, whole, &methods, options, out)?;
    let holders = holders(&contended);
    if holders.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    held(&holders, &methods, options, out)
}

fn sum<'r>(rows: impl Iterator<Item = &'r LockPlace<'r>>) -> WaitSum {
    let mut sum = WaitSum::default();
    for row in rows {
        sum.add(row.sum.count, row.sum.ns);
    }
    sum
}

/// Returns facts with the sums of the waits, for each kind of wait.
fn facts(contended: &[LockPlace<'_>], others: &[LockPlace<'_>]) -> Vec<String> {
    let told = |what: &str, sum: WaitSum| {
        let waits = units::counted(sum.count, "wait", "waits");
        format!("{what} {} in {waits}", units::time(sum.ns as f64))
    };
    let whole = sum(contended.iter());
    let holders = contended.iter().flat_map(|row| row.holders.values());
    let known: u64 = holders.map(|sum| sum.count).sum();
    let mut facts = vec![told("contention", whole)];
    if whole.count > 0 {
        facts.push(format!("holder known for {}", units::count(known)));
    }
    for (kind, what) in [
        (WaitKind::Notification, "not contended: Object.wait"),
        (WaitKind::Park, "parked for other reasons"),
    ] {
        let sum = sum(others.iter().filter(|row| row.kind == kind));
        if sum.count > 0 {
            facts.push(told(what, sum));
        }
    }
    facts
}

/// Writes the table of the places where threads waited.
fn waited(
    rows: &[LockPlace<'_>],
    whole: WaitSum,
    methods: &[String],
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let shown = &rows[..rows.len().min(options.top.unwrap_or(usize::MAX))];
    let share = |row: &LockPlace<'_>| {
        format!(
            "{:.1} %",
            100.0 * row.sum.ns as f64 / (whole.ns as f64).max(1.0)
        )
    };
    let cells = |cell: &dyn Fn(&LockPlace<'_>) -> String| shown.iter().map(cell).collect();
    let columns = vec![
        Column::new("delay", 0, cells(&|row| units::time(row.sum.ns as f64))),
        Column::new("%", 2, cells(&share)),
        Column::new("waits", 0, cells(&|row| units::count(row.sum.count))),
        Column::new("of a", 1, cells(&|row| row.kind.as_str().to_owned())),
    ];
    let places: Vec<String> = shown.iter().map(|row| name(row.place, methods)).collect();
    let classes = simple_type_names(shown.iter().map(|row| row.class));
    let columns = with_types(columns, &classes, &places, options.width);
    text_table(&columns, "waited at", &places, options.width, out)?;
    more(rows.len() - shown.len(), out)
}

/// A place where a lock was held, and the name of the thread.
type HeldAt<'p> = (CodePlace, &'p str);

/// Returns the waits by holder, the longest first.
fn holders<'p>(rows: &[LockPlace<'p>]) -> Vec<(HeldAt<'p>, WaitSum)> {
    let mut sums: HashMap<HeldAt<'p>, WaitSum> = HashMap::new();
    for (holder, sum) in rows.iter().flat_map(|row| &row.holders) {
        sums.entry(*holder).or_default().add(sum.count, sum.ns);
    }
    let mut holders: Vec<_> = sums.into_iter().collect();
    holders.sort_by_key(|(holder, sum)| (std::cmp::Reverse((sum.ns, sum.count)), *holder));
    holders
}

/// Writes the table of the holders of locks.
fn held(
    holders: &[(HeldAt<'_>, WaitSum)],
    methods: &[String],
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let shown = &holders[..holders.len().min(options.top.unwrap_or(usize::MAX))];
    let delays = shown.iter().map(|(_, sum)| units::time(sum.ns as f64));
    let waits = shown.iter().map(|(_, sum)| units::count(sum.count));
    let threads = shown
        .iter()
        .map(|((_, thread), _)| printable(thread).into_owned());
    let columns = vec![
        Column::new("delay", 0, delays.collect()),
        Column::new("waits", 0, waits.collect()),
        Column::new("held by", 1, threads.collect()),
    ];
    let places: Vec<String> = shown
        .iter()
        .map(|((at, _), _)| name(*at, methods))
        .collect();
    text_table(&columns, "held at", &places, options.width, out)?;
    more(holders.len() - shown.len(), out)
}

fn name(place: CodePlace, methods: &[String]) -> String {
    match place {
        Some((method, line)) => place_name(Some(methods[method as usize].as_str()), line),
        None => "(not known)".to_owned(),
    }
}

fn more(rows: usize, out: &mut dyn Write) -> io::Result<()> {
    if rows > 0 {
        let places = units::counted(rows as u64, "more place", "more places");
        writeln!(out, "      {places}")?;
    }
    Ok(())
}
