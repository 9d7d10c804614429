//! The table at a program's end: one line a method.

use std::io::{self, Write};

use super::Options;
use super::units::{self, Unit};
use crate::model::{Header, Profile, Timing};
use crate::names::shorten;
use crate::view::{Row, View};

/// Errors from this share of a time on are shown, in percent.
const NOTABLE_ERROR: f64 = 5.0;

/// The narrowest a method's name is cut to.
const NARROWEST_NAME: usize = 30;

pub(super) fn write(
    profile: &Profile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let view = View::new(profile, options);
    let mut rows = view.rows(options.sort);
    let all = rows.len();
    rows.truncate(options.top.unwrap_or(all));
    head(&view, out)?;
    if rows.is_empty() {
        writeln!(out, "no method was called")?;
    } else {
        let columns = columns(&view, &rows);
        text_table(&columns, &view, &rows, options.width, out)?;
        if options
            .top
            .is_some_and(|top| rows.len() == top && top < all)
        {
            writeln!(
                out,
                "{:>4}  {} more methods",
                "",
                units::count((all - rows.len()) as u64)
            )?;
        }
    }
    remarks(&profile.header, rows.iter().any(|row| row.estimated), out)
}

/// What ran, how long, how it was measured.
fn head(view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let header = &view.profile.header;
    if !header.command.is_empty() {
        writeln!(out, "{}", header.command)?;
    }
    let calls = view.trees.iter().flat_map(|tree| &tree.entries);
    let calls = calls.fold(0u64, |sum, entry| sum.saturating_add(entry.calls));
    let threads = match view.trees.len() {
        1 => "1 thread".to_owned(),
        n => format!("{n} threads"),
    };
    let measured = match header.timing {
        Timing::Count => "calls counted, not timed".to_owned(),
        timing => format!(
            "{} clock, {} timing",
            header.clock.as_str(),
            timing.as_str()
        ),
    };
    writeln!(
        out,
        "{} · {measured} · {} calls in {threads} · tracker {}\n",
        units::time(header.duration_ns as f64),
        units::count(calls),
        units::bytes(header.tracker_bytes),
    )
}

/// A column of text: its title and a cell a row, all to the right.
struct Column {
    title: String,
    cells: Vec<String>,
}

fn columns(view: &View<'_>, rows: &[Row]) -> Vec<Column> {
    let column = |title: &str, cells: Vec<String>| Column {
        title: title.to_owned(),
        cells,
    };
    let cells = |cell: &dyn Fn(&Row) -> String| rows.iter().map(cell).collect::<Vec<_>>();
    let ranks = (1..=rows.len()).map(|rank| rank.to_string());
    let mut columns = vec![column("#", ranks.collect())];
    let calls = column("calls", cells(&|row| units::count(row.calls)));
    if view.counts_only() {
        let share = |row: &Row| format!("{:.1} %", view.percent(row.calls as f64));
        columns.extend([column("calls %", cells(&share)), calls]);
        return columns;
    }
    let share = |row: &Row| format!("{:.1} %", view.percent(row.self_ns));
    columns.push(column("self %", cells(&share)));
    let times = |title: &str, time: fn(&Row) -> f64, error: fn(&Row) -> f64| {
        let unit = Unit::for_largest(rows.iter().map(time).fold(0.0, f64::max));
        let number = |row: &Row| {
            let mark = if row.estimated { "~" } else { "" };
            format!("{mark}{}", unit.number(time(row)))
        };
        let error = |row: &Row| match 100.0 * error(row) / time(row).max(1.0) {
            percent if row.estimated && percent > 999.0 => ">±999%".to_owned(),
            percent if row.estimated && percent > NOTABLE_ERROR => format!("±{percent:.0}%"),
            _ => String::new(),
        };
        let errors = column("", cells(&error));
        let errors = Some(errors).filter(|column| column.cells.iter().any(|cell| !cell.is_empty()));
        let title = format!("{title}, {}", unit.name);
        std::iter::once(column(&title, cells(&number))).chain(errors)
    };
    columns.extend(times("self", |row| row.self_ns, Row::self_error_ns));
    columns.extend(times("total", |row| row.total_ns, Row::total_error_ns));
    columns.push(calls);
    columns.push(column("mean", cells(&|row| units::time(row.mean_ns()))));
    columns
}

fn text_table(
    columns: &[Column],
    view: &View<'_>,
    rows: &[Row],
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let length = |text: &String| text.chars().count();
    let widths: Vec<usize> = columns
        .iter()
        .map(|column| {
            let cells = column.cells.iter().map(length).max().unwrap_or(0);
            cells.max(length(&column.title))
        })
        .collect();
    let taken: usize = widths.iter().map(|width| width + 2).sum();
    let left = width.saturating_sub(taken).max(NARROWEST_NAME);
    let line = |cell: &dyn Fn(&Column) -> String, method: &str| {
        let mut line = String::new();
        for (column, width) in columns.iter().zip(&widths) {
            line.push_str(&format!("{:>width$}  ", cell(column)));
        }
        line + method
    };
    writeln!(out, "{}", line(&|column| column.title.clone(), "method"))?;
    for (at, row) in rows.iter().enumerate() {
        let name = shorten(&view.names[row.method as usize], left);
        writeln!(out, "{}", line(&|column| column.cells[at].clone(), &name))?;
    }
    Ok(())
}

/// What the numbers do not say.
fn remarks(header: &Header, estimated: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut remarks = Vec::new();
    if estimated {
        remarks.push("~ estimated from a random sample of the calls; ± its standard error where above 5 %; counts are exact".to_owned());
    }
    if header.overflowed_calls > 0 {
        remarks.push(format!(
            "the call tree was full: {} calls are counted as (tree full), see --max-nodes",
            units::count(header.overflowed_calls)
        ));
    }
    if !header.left_alone.is_empty() {
        let reasons = header.left_alone.iter();
        let reasons: Vec<String> = reasons
            .map(|(reason, methods)| format!("{} {reason}", units::count(*methods)))
            .collect();
        remarks.push(format!("methods left alone: {}", reasons.join(", ")));
    }
    for pattern in &header.unmatched {
        remarks.push(format!("warning: no class matched `{pattern}`"));
    }
    remarks.extend(header.notes.iter().cloned());
    if !remarks.is_empty() {
        writeln!(out)?;
    }
    remarks
        .iter()
        .try_for_each(|remark| writeln!(out, "{remark}"))
}
