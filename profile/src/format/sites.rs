//! The table of allocations: one line a place in the code and type.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use super::Options;
use super::table::{Column, fitted, lines, text_table};
use super::units::{self, Quantity, UNKNOWN, Unit};
use crate::allocation::{Allocations, Amount};
use crate::measure::Measure;
use crate::model::Profile;
use crate::names::{names, printable};

/// Errors from this share of the bytes on are shown, in percent.
const NOTABLE_ERROR: f64 = 5.0;

/// What one place allocates of one type, in all threads and calling contexts.
#[derive(Clone, Debug, PartialEq)]
struct Row<'p> {
    /// Index into [`Profile::methods`]; `None` if no Java method was running.
    method: Option<u32>,
    line: Option<u32>,
    type_name: &'p str,
    allocated: Amount,
    live: Amount,
    live_age: f64,
    /// Objects of unknown size, which are not in the bytes.
    unsized_objects: f64,
}

/// The rows of what was chosen, the heaviest by `measure` first.
fn rows<'p>(
    profile: &'p Profile,
    allocations: &'p Allocations,
    options: &'p Options<'_>,
    measure: Measure,
) -> Vec<Row<'p>> {
    let mut places: HashMap<(Option<u32>, Option<u32>, &str), usize> = HashMap::new();
    let mut rows: Vec<Row<'p>> = Vec::new();
    for site in allocations.chosen(profile, options) {
        let frame = site.frame.map(|frame| &allocations.frames[frame as usize]);
        let (method, line) = (frame.map(|f| f.method), frame.and_then(|f| f.line));
        let at = *places
            .entry((method, line, &site.type_name))
            .or_insert_with(|| {
                rows.push(Row {
                    method,
                    line,
                    type_name: &site.type_name,
                    allocated: Amount::default(),
                    live: Amount::default(),
                    live_age: 0.0,
                    unsized_objects: 0.0,
                });
                rows.len() - 1
            });
        let row = &mut rows[at];
        if site.allocated.bytes.is_none() {
            row.unsized_objects += site.allocated.objects;
        }
        let ages = row.live_age * row.live.objects + site.live_age * site.live.objects;
        row.allocated.add(&site.allocated);
        row.live.add(&site.live);
        if row.live.objects > 0.0 {
            row.live_age = ages / row.live.objects;
        }
    }
    rows.sort_by(|a, b| {
        let key = |row: &Row<'_>| (weight(row, measure), chosen(row, measure).objects);
        let ((a_bytes, a_objects), (b_bytes, b_objects)) = (key(a), key(b));
        let heavier = b_bytes
            .total_cmp(&a_bytes)
            .then(b_objects.total_cmp(&a_objects));
        heavier.then_with(|| (a.method, a.line, a.type_name).cmp(&(b.method, b.line, b.type_name)))
    });
    rows
}

/// Writes the table; what ran is said already if there is a table above it.
pub(super) fn write(
    profile: &Profile,
    allocations: &Allocations,
    measure: Measure,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut rows = rows(profile, allocations, options, measure);
    let all = rows.len();
    head(allocations, &rows, options, out)?;
    if rows.is_empty() {
        return writeln!(out, "nothing was allocated there");
    }
    let whole: f64 = rows.iter().map(|row| weight(row, measure)).sum();
    let unsized_objects: f64 = rows.iter().map(|row| row.unsized_objects).sum();
    rows.truncate(options.top.unwrap_or(all));
    let methods = names(&profile.methods);
    let name = |row: &Row<'_>| {
        let place = match row.method {
            None => "the virtual machine".to_owned(),
            Some(method) => {
                let line = row.line.map_or(String::new(), |line| format!(":{line}"));
                format!("{}{line}", methods[method as usize])
            }
        };
        printable(&place).into_owned()
    };
    let names: Vec<String> = rows.iter().map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut columns = columns(allocations, &rows, measure, whole);
    columns.push(Column::new("type", 0, types(&rows)));
    let columns = fitted(columns, &names, options.width);
    text_table(&columns, "place", &names, options.width, out)?;
    if rows.len() < all {
        writeln!(
            out,
            "{:>4}  {} more",
            "",
            units::count((all - rows.len()) as u64)
        )?;
    }
    if unsized_objects > 0.0 {
        let objects = units::decimal(unsized_objects, 0);
        writeln!(
            out,
            "\n{objects} objects are of unknown size: their classes are gone, or the heap was full"
        )?;
    }
    Ok(())
}

/// The types without their packages, where that leaves them different.
fn types(rows: &[Row<'_>]) -> Vec<String> {
    let short = |name: &str| {
        name.rsplit_once('.')
            .map_or(0, |(package, _)| package.len() + 1)
    };
    let mut known: HashMap<&str, &str> = HashMap::new();
    let mut shared: HashSet<&str> = HashSet::new();
    for row in rows {
        let name = &row.type_name[short(row.type_name)..];
        if *known.entry(name).or_insert(row.type_name) != row.type_name {
            shared.insert(name);
        }
    }
    let told = |row: &Row<'_>| {
        let name = &row.type_name[short(row.type_name)..];
        let name = if shared.contains(name) {
            row.type_name
        } else {
            name
        };
        printable(name).into_owned()
    };
    rows.iter().map(told).collect()
}

fn chosen(row: &Row<'_>, measure: Measure) -> Amount {
    match measure {
        Measure::Live => row.live,
        Measure::Time | Measure::Allocated => row.allocated,
    }
}

fn weight(row: &Row<'_>, measure: Measure) -> f64 {
    chosen(row, measure).bytes.unwrap_or(0.0)
}

/// What was allocated in all, and how it is known.
fn head(
    allocations: &Allocations,
    rows: &[Row<'_>],
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let sum = |of: fn(&Row<'_>) -> Amount| {
        let mut sum = Amount::default();
        rows.iter().for_each(|row| sum.add(&of(row)));
        sum
    };
    let about = if allocations.seen.is_sampled() {
        "~"
    } else {
        ""
    };
    let told = |what: &str, amount: Amount| {
        let bytes = units::bytes(amount.bytes.unwrap_or(0.0).round() as u64);
        let objects = units::decimal(amount.objects, 0);
        format!("{what} {about}{bytes} in {about}{objects} objects")
    };
    let mut facts = vec![told("allocated", sum(|row| row.allocated))];
    if allocations.live {
        facts.push(told("alive", sum(|row| row.live)));
    }
    facts.push(allocations.seen.describe());
    writeln!(out, "{}\n", lines(&facts, options.width))
}

fn columns(
    allocations: &Allocations,
    rows: &[Row<'_>],
    measure: Measure,
    whole: f64,
) -> Vec<Column> {
    let cells = |cell: &dyn Fn(&Row<'_>) -> String| rows.iter().map(cell).collect::<Vec<_>>();
    let ranks = (1..=rows.len()).map(|rank| rank.to_string()).collect();
    let share = |row: &Row<'_>| match whole > 0.0 {
        true => format!("{:.1} %", 100.0 * weight(row, measure) / whole),
        false => UNKNOWN.to_owned(),
    };
    let mut columns = vec![
        Column::new("#", 0, ranks),
        Column::new("bytes %", 0, cells(&share)),
    ];
    let amounts = |title: &str, spare: u8, of: fn(&Row<'_>) -> Amount| {
        let bytes = rows.iter().filter_map(|row| of(row).bytes);
        let unit = Unit::for_largest(bytes.fold(0.0, f64::max), Quantity::Bytes);
        let bytes = |row: &Row<'_>| {
            of(row)
                .bytes
                .map_or(UNKNOWN.to_owned(), |bytes| unit.number(bytes))
        };
        let objects = |row: &Row<'_>| units::decimal(of(row).objects, 0);
        let error = |row: &Row<'_>| {
            let amount = of(row);
            let percent =
                100.0 * amount.bytes_variance.sqrt() / amount.bytes.unwrap_or(0.0).max(1.0);
            match percent {
                ..=NOTABLE_ERROR => String::new(),
                ..=999.0 => format!("{percent:.0} %"),
                _ => ">999 %".to_owned(),
            }
        };
        let made = [
            Column::new(&format!("{title}{}", unit.name), spare, cells(&bytes)),
            Column::new("±", spare + 2, cells(&error)),
            Column::new(&format!("{title}objects"), spare + 1, cells(&objects)),
        ];
        made.into_iter().filter(|column| column.has_text())
    };
    if allocations.live {
        let is_first = measure == Measure::Live;
        columns.extend(amounts("live ", if is_first { 0 } else { 1 }, |row| {
            row.live
        }));
        let age = |row: &Row<'_>| match row.live.objects > 0.0 {
            true => units::decimal(row.live_age, 1),
            false => String::new(),
        };
        columns.push(Column::new("age", 2, cells(&age)));
    }
    let is_first = measure != Measure::Live;
    columns.extend(amounts("", if is_first { 0 } else { 1 }, |row| {
        row.allocated
    }));
    columns
}
