//! The table of durations of calls.

use std::io::{self, Write};

use loadhook_text::units;
use loadhook_text::width::joined;

use super::columns::{Column, fitted, text_table};
use super::methods::{nothing, program};
use crate::analysis::latencies::Latency;
use crate::analysis::method_rows::Row;
use crate::analysis::options::Options;
use crate::analysis::view::View;
use crate::format::bounds::{FEWER, fewer};
use crate::format::notes::{measured, write_sentences};
use crate::model::{Profile, Timing};

/// The titles of [`Latency::percentiles`], and the order in which columns are dropped if there is no room.
const COLUMNS: [(&str, u8); 5] = [("p50", 0), ("p90", 2), ("p99", 0), ("p99.9", 1), ("max", 0)];

/// Writes the percentiles of the durations of each method's calls: see `docs/user/profiles.md`.
///
/// # Errors
///
/// Fails if writing to `out` fails.
pub fn write_latencies(
    profile: &Profile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let view = View::of_calls(profile, options);
    program(profile, options, out)?;
    let called = view.rows(options.sort);
    let rows: Vec<(Row, Latency)> = called
        .iter()
        .filter_map(|row| Some((*row, *view.latencies.get(&row.method)?)))
        .collect();
    if rows.is_empty() {
        return writeln!(out, "{}", no_rows(&view, &called, options));
    }
    let facts = [
        units::time(profile.header.watched_ns() as f64),
        measured(&profile.header),
        units::counted(rows.len() as u64, "method", "methods"),
    ];
    writeln!(out, "{}\n", joined(&facts, options.width))?;
    let shown = &rows[..rows.len().min(options.top.unwrap_or(usize::MAX))];
    let calls = |(row, latency): &(Row, Latency)| {
        let mark = if latency.is_partial(row.count) {
            FEWER
        } else {
            ""
        };
        format!("{mark}{}", units::count(latency.calls))
    };
    let mut columns = vec![Column::new("calls", 0, shown.iter().map(calls).collect())];
    for (at, (title, spare)) in COLUMNS.into_iter().enumerate() {
        let cells = shown.iter();
        let cells = cells.map(|(_, latency)| units::time(latency.percentiles[at]));
        columns.push(Column::new(title, spare, cells.collect()));
    }
    let names: Vec<String> = shown
        .iter()
        .map(|(row, _)| view.shown(row.method))
        .collect();
    let columns = fitted(columns, &names, options.width);
    text_table(&columns, "method", &names, options.width, out)?;
    let left = (rows.len() - shown.len()) as u64;
    if left > 0 {
        let methods = units::counted(left, "more method", "more methods");
        writeln!(out, "      {methods}")?;
    }
    let mut remarks = vec![
        "50, 90, 99 and 99.9 % of the calls take at most this long, callees and their probes included; figures are at most a sixteenth too long".to_owned(),
    ];
    let partial = shown
        .iter()
        .find(|(row, latency)| latency.is_partial(row.count));
    remarks.extend(partial.map(|(row, latency)| fewer(latency.calls, row.count)));
    writeln!(out)?;
    write_sentences(remarks, options.width, out)
}

/// Returns the line in place of a table that would have no row. `called` has the methods that were
/// called.
fn no_rows(view: &View<'_>, called: &[Row], options: &Options<'_>) -> &'static str {
    let ranges = &view.profile.latencies;
    let has_ranges = |row: &Row| {
        // With a focus, the rows of callers are there, too.
        let method = &view.methods[row.method as usize];
        let found = ranges.binary_search_by_key(&row.method, |range| range.method);
        found.is_ok() && options.focus.is_none_or(|focus| focus(method))
    };
    if options.thread.is_some() {
        "Durations of calls are known only for all threads together; leave out --thread"
    } else if !called.iter().any(has_ranges) {
        nothing(view, options)
    } else if view.profile.header.timing == Timing::Exact {
        "No method had all its calls timed; run again with --budget none"
    } else {
        "No method had all its calls timed; run again with --timing exact"
    }
}
