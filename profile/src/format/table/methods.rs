//! The table of methods: one line for each. `loadhook run` prints it at the program's end.

use std::io::{self, Write};

use super::columns::{Column, NARROWEST_NAME, fitted, partly_grey};
use super::{not_instrumented, sampled};
use crate::analysis::method_rows::Row;
use crate::analysis::options::{Explain, Options, Sort};
use crate::analysis::view::View;
use crate::analysis::waiting_methods::mostly_waiting;
use crate::format::bounds::{
    COUNTED, calls_mark, counted_only, counted_until, mark, without_later,
};
use crate::format::notes::{FEW_NOTES, measured, write_sentences};
use crate::model::{Clock, Header, Method, Profile, Timing};
use loadhook_text::clipped;
use loadhook_text::printable;
use loadhook_text::units::{self, Quantity, Unit};
use loadhook_text::width::{joined, wrapped};

/// The indent of the lines after the last method.
const INDENT: &str = "      ";

/// The time of attaching is only shown if it is a larger part than this of the whole time.
const SHORT: f64 = 0.01;

/// Only errors above this percentage of a time are shown.
const NOTABLE_ERROR: f64 = 5.0;

/// The title of the columns with standard errors.
pub(in crate::format) const ERROR: &str = "±";

/// The line that explains the columns of errors.
pub(super) const ERRORS: &str = "± standard error of the estimate, where above 5 %";

pub(super) fn write(
    profile: &Profile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let view = View::of_working_threads(profile, options);
    let mut rows = view.rows(options.sort);
    let all = rows.len();
    let hidden = rows.split_off(options.top.map_or(all, |top| top.min(all)));
    head(&view, options, out)?;
    let mut has_errors = false;
    if all == 0 {
        writeln!(out, "{}", nothing(&view, options))?;
    } else {
        let names = names(&view, &rows);
        let columns = fitted(columns(&view, &rows), &names, options.width);
        has_errors = columns.iter().any(|column| column.title == ERROR);
        let is_grey = |at: usize| options.grey && rows[at].is_mostly_error();
        partly_grey(&columns, "method", &names, options.width, &is_grey, out)?;
        if let Some(line) = more(&view, &hidden, all) {
            writeln!(out, "{}", wrapped(&line, INDENT, options.width))?;
        }
    }
    let waiting = [view.waiting.line(), mostly_waiting(&view, &rows)];
    for line in waiting.into_iter().flatten() {
        writeln!(out, "{}", wrapped(&line, INDENT, options.width))?;
    }
    let estimated = !view.is_sampled() && rows.iter().any(|row| row.is_estimated);
    let has_bounds = rows.iter().any(|row| row.total_is_bound);
    let has_partial = rows
        .iter()
        .any(|row| row.is_partial() && row.some_total().is_some());
    let only_counted = rows.iter().filter(|row| row.counted_until_ns.is_none());
    let lacks_later = only_counted.clone().any(Row::lacks_later_calls);
    let counted_since = only_counted.filter_map(|row| row.counted_since_ns);
    let until = rows.iter().filter_map(|row| row.counted_until_ns).min();
    let has_least_calls = lacks_later || until.is_some();
    let marks = [
        estimated,
        has_errors,
        has_bounds,
        has_partial,
        has_least_calls,
    ];
    let first = [
        sampled::remark(&view, &rows),
        order(&rows, &hidden, options.sort),
        counted_only(counted_since),
        lacks_later.then(|| without_later(COUNTED)),
        until.map(|first| counted_until(first, view.is_sampled())),
    ];
    remarks(
        &profile.header,
        first.into_iter().flatten().collect(),
        marks,
        options,
        out,
    )?;
    let mostly_error = rows.iter().find(|row| row.is_mostly_error());
    let remedy = mostly_error.filter(|_| !view.is_sampled()).map(|row| {
        let method = &profile.methods[row.method as usize];
        remedy(method)
    });
    write_sentences(remedy, options.width, out)
}

/// The share of the self time, in percent, from which on the line about hidden rows has the time.
const NOTABLE_SHARE: f64 = 1.0;

/// Returns the line about the rows that `--top` hides, which are the last of `all` rows; `None` if no row is hidden.
/// Rows with large errors are hidden first, and may have most of the time.
fn more(view: &View<'_>, hidden: &[Row], all: usize) -> Option<String> {
    if hidden.is_empty() {
        return None;
    }
    let methods = units::counted(hidden.len() as u64, "more method", "more methods");
    let (part, text) = if view.counts_only() {
        let calls = hidden
            .iter()
            .fold(0_u64, |sum, row| sum.saturating_add(row.count));
        (calls as f64, units::counted(calls, "call", "calls"))
    } else {
        let own: f64 = hidden.iter().filter_map(Row::known_own).sum();
        (own, format!("{} of self time", units::time(own)))
    };
    let share = view.percent(part);
    Some(if share < NOTABLE_SHARE {
        methods
    } else {
        format!("{methods} with {text} ({share:.1} %); --top {all} shows them")
    })
}

/// Returns the remark about the order by self time; `None` if each self time in the table is at most the one above it,
/// and no `hidden` one is larger than the last.
fn order(rows: &[Row], hidden: &[Row], sort: Sort) -> Option<String> {
    let mut times: Vec<f64> = rows.iter().filter_map(Row::known_own).collect();
    times.extend(hidden.iter().filter_map(Row::known_own).reduce(f64::max));
    let unit = unit(rows, Row::known_own);
    let rises = times
        .windows(2)
        .any(|pair| pair[0] < pair[1] && unit.number(pair[0]) != unit.number(pair[1]));
    (sort == Sort::SelfTime && rises)
        .then(|| "ordered by self time minus two standard errors".to_owned())
}

/// Returns the remark about rows whose self times are mostly error. The remark names options that give exact times.
/// `method` is the method of one of these rows.
fn remedy(method: &Method) -> String {
    let package = match method.class.rsplit_once('.') {
        Some((package, _)) => format!("{package}.**"),
        None => method.class.to_string(),
    };
    let package = printable(&package).replace('\'', "'\\''");
    format!(
        "rows whose self time has an error above 50 % are ranked last; run with --timing exact --include '{package}' for exact values"
    )
}

/// Returns the line that replaces an empty table.
pub(in crate::format) fn nothing(view: &View<'_>, options: &Options<'_>) -> &'static str {
    if view.has_nodes && (options.focus.is_some() || options.thread.is_some()) {
        "No methods match these filters"
    } else {
        "No instrumented method was called"
    }
}

/// Writes the command line of the program.
pub(super) fn program(
    profile: &Profile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let command = &profile.header.command;
    if command.is_empty() {
        return Ok(());
    }
    // Some command lines have a thousand arguments.
    let columns = options.width.max(NARROWEST_NAME);
    writeln!(out, "{}", clipped(&printable(command), columns))
}

/// Writes the duration of the program, and how calls were timed.
fn head(view: &View<'_>, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let header = &view.profile.header;
    program(view.profile, options, out)?;
    let nodes = view.trees.iter().flat_map(|tree| &tree.entries);
    let nodes = nodes.filter(|_| !view.is_sampled());
    let calls = nodes.fold(view.counted(), |sum, entry| {
        sum.saturating_add(entry.weight.count)
    });
    let mut facts = duration(header);
    facts.extend([measured(header), call_text(view, calls)]);
    // The tracker takes no memory if nothing is instrumented.
    if header.tracker_bytes > 0 {
        facts.push(format!("tracker {}", units::bytes(header.tracker_bytes)));
    }
    writeln!(out, "{}", joined(&facts, options.width))?;
    if view.is_sampled() {
        for line in sampled::head(view, options.width) {
            writeln!(out, "{line}")?;
        }
    } else if let facts @ [_, ..] = &*sum_over_threads(view) {
        writeln!(out, "{}", joined(facts, options.width))?;
    }
    writeln!(out)
}

/// Returns the time for which the program was watched. If an agent took long to attach, this time is told apart.
fn duration(header: &Header) -> Vec<String> {
    let watched = units::time(header.watched_ns() as f64);
    let attaching = header.attaching_ns as f64;
    if attaching <= SHORT * header.duration_ns as f64 {
        return vec![watched];
    }
    let attaching = units::time(attaching);
    vec![
        format!("{watched} watched"),
        format!("{attaching} before to change classes"),
    ]
}

/// Returns a text with the number of calls, if they were counted, and the number of shown threads.
fn call_text(view: &View<'_>, calls: u64) -> String {
    let least = mark(false, view.calls_are_least());
    let counted = format!("{least}{}", units::counted(calls, "call", "calls"));
    let threads = view.threads();
    if view.trees.is_empty() && !view.method_calls.is_empty() {
        counted
    } else if !view.is_sampled() || !view.method_calls.is_empty() {
        format!("{counted} in {threads}")
    } else if view.profile.method_calls.is_empty() {
        format!("{threads}, calls not counted")
    } else {
        threads
    }
}

/// Returns sentences that say how to read times that are summed over threads; empty for a single
/// thread.
pub(in crate::format) fn sum_over_threads(view: &View<'_>) -> Vec<String> {
    let header = &view.profile.header;
    if view.counts_only() || view.trees.len() < 2 {
        return Vec::new();
    }
    let mut facts = vec![
        format!("Times are summed over {}", view.threads()),
        format!(
            "{} in {} elapsed",
            units::time(view.whole),
            units::time(header.watched_ns() as f64)
        ),
    ];
    if header.clock == Clock::Wall {
        let cpu: Option<u64> = view.trees.iter().map(|tree| tree.cpu_ns).sum();
        facts.push(match cpu {
            // Code without probes may also have used processor time beside these calls.
            Some(ns) => format!(
                "{} on a processor, the rest waited",
                units::time(view.whole.min(ns as f64))
            ),
            None => "waiting included".to_owned(),
        });
    }
    facts.push("% is of that sum".to_owned());
    facts
}

fn columns(view: &View<'_>, rows: &[Row]) -> Vec<Column> {
    let column = |title: &str, cells| Column::new(title, 0, cells);
    let cells = |cell: &dyn Fn(&Row) -> String| rows.iter().map(cell).collect::<Vec<_>>();
    let ranks = (1..=rows.len()).map(|rank| rank.to_string());
    let mut columns = vec![column("#", ranks.collect())];
    let calls = |row: &Row| match row.known_calls() {
        Some(calls) => {
            let mark = calls_mark(
                row.counted_since_ns,
                row.counted_until_ns,
                row.lacks_later_calls(),
            );
            format!("{mark}{}", units::count(calls))
        }
        None => units::UNKNOWN.to_owned(),
    };
    let calls = column("calls", cells(&calls));
    if view.counts_only() {
        let share = |row: &Row| format!("{:.1} %", view.percent(row.count as f64));
        columns.extend([column("calls %", cells(&share)), calls]);
        return columns;
    }
    let share = |row: &Row| known(row.known_own(), &|ns| format!("{:.1} %", view.percent(ns)));
    let spares = Spares::of(view);
    columns.push(Column::new("self %", spares.share, cells(&share)));
    columns.extend(times(
        rows,
        "self",
        spares.own,
        |row| mark(false, row.is_partial()),
        Row::known_own,
        Row::own_error,
    ));
    columns.extend(times(
        rows,
        "total",
        spares.total,
        |row| mark(row.total_is_bound, row.is_partial()),
        Row::some_total,
        Row::total_error,
    ));
    columns.push(calls);
    let mean = |row: &Row| {
        let mean = |ns| format!("{}{}", mark(row.total_is_bound, false), units::time(ns));
        known(row.mean(), &mean)
    };
    columns.push(Column::new("mean", spares.mean, cells(&mean)));
    if view.is_sampled() {
        let waiting = Column::new(
            "waiting",
            sampled::WAITING_SPARE,
            cells(&|row| sampled::waiting_text(row.waiting)),
        );
        columns.extend(Some(waiting).filter(Column::has_text));
    }
    columns
}

fn known(time: Option<f64>, text: &dyn Fn(f64) -> String) -> String {
    match time {
        Some(time) => text(time),
        None => units::UNKNOWN.to_owned(),
    }
}

/// Returns the unit in which a column of times is shown.
fn unit(rows: &[Row], time: fn(&Row) -> Option<f64>) -> Unit {
    let largest = rows.iter().filter_map(time).fold(0.0, f64::max);
    Unit::for_largest(largest, Quantity::Time)
}

/// Returns the column of a time and the column of its errors. A column without text is left out.
fn times(
    rows: &[Row],
    title: &str,
    spare: [u8; 2],
    mark: fn(&Row) -> &'static str,
    time: fn(&Row) -> Option<f64>,
    error: fn(&Row) -> f64,
) -> impl Iterator<Item = Column> {
    let unit = unit(rows, time);
    let number = |row: &Row| {
        let is_marked = row.is_estimated && !row.is_sampled;
        let estimated = if is_marked { "~" } else { "" };
        let number = |ns| format!("{}{estimated}{}", mark(row), unit.number(ns));
        known(time(row), &number)
    };
    let error = |row: &Row| match 100.0 * error(row) / time(row).unwrap_or(0.0).max(1.0) {
        _ if row.is_sampled && time(row) == Some(0.0) => String::new(),
        percent if row.is_estimated && percent > 999.0 => ">999 %".to_owned(),
        percent if row.is_estimated && percent > NOTABLE_ERROR => format!("{percent:.0} %"),
        _ => String::new(),
    };
    let title = format!("{title}, {}", unit.name);
    let columns = [
        Column::new(&title, spare[0], rows.iter().map(number).collect()),
        Column::new(ERROR, spare[1], rows.iter().map(error).collect()),
    ];
    columns.into_iter().filter(Column::has_text)
}

/// The order in which columns are dropped if there is no room for all: the highest number goes
/// first. The second number of a pair belongs to the column of errors.
struct Spares {
    share: u8,
    own: [u8; 2],
    total: [u8; 2],
    mean: u8,
}

impl Spares {
    fn of(view: &View<'_>) -> Spares {
        if view.is_sampled() {
            Spares {
                share: 2,
                own: [0, 4],
                total: [0, 5],
                mean: 3,
            }
        } else {
            Spares {
                share: 0,
                own: [0, 3],
                total: [1, 4],
                mean: 2,
            }
        }
    }
}

fn names(view: &View<'_>, rows: &[Row]) -> Vec<String> {
    rows.iter().map(|row| view.shown(row.method)).collect()
}

/// Writes the explanations of marks, the number of methods not instrumented, and notes.
pub(super) fn remarks(
    header: &Header,
    first: Vec<String>,
    [
        estimated,
        has_errors,
        has_bounds,
        has_partial,
        has_least_calls,
    ]: [bool; 5],
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut remarks = first;
    if estimated {
        let how = match header.timing {
            Timing::Exact => "the estimated cost of reading the clock is subtracted",
            _ => "estimated from a random sample of the calls",
        };
        let but = if has_least_calls { " but for ≥" } else { "" };
        remarks.push(format!("~ {how}; counts are exact{but}"));
    }
    if has_errors {
        remarks.push(ERRORS.to_owned());
    }
    if has_bounds {
        remarks.push("≤ upper bound: recursive calls may be counted twice".to_owned());
    }
    if has_partial {
        remarks.push(
            "≥ lower bound: the time of some calls is unknown; means are of the other calls"
                .to_owned(),
        );
    }
    if header.overflowed_calls > 0 {
        remarks.push(format!(
            "{} counted as (tree full): too many nodes (raise --max-nodes), too little heap (raise -Xmx), or calls a million deep",
            units::counted(header.overflowed_calls, "call is", "calls are")
        ));
    }
    remarks.extend(not_instrumented::reasons(header));
    for pattern in &header.unmatched {
        let what = if pattern.contains("::") {
            "method"
        } else {
            "class"
        };
        remarks.push(format!("warning: no {what} matched `{pattern}`"));
    }
    let all = header.all_notes().count();
    let shown = match options.explain {
        Explain::No => all.min(FEW_NOTES),
        _ => all,
    };
    remarks.extend(header.all_notes().take(shown).map(str::to_owned));
    if shown < all {
        let notes = units::counted((all - shown) as u64, "more note", "more notes");
        remarks.push(format!("{notes}: loadhook report PROFILE --explain"));
    }
    if !remarks.is_empty() {
        writeln!(out)?;
    }
    write_sentences(remarks, options.width, out)
}
