//! The table of allocations: one line for each place in the code and type.

use std::io::{self, Write};

use super::columns::{Column, text_table, with_types};
use super::methods::{ERROR, ERRORS};
use crate::analysis::allocation_places::{Place, place_name, places, total};
use crate::analysis::measure::Measure;
use crate::analysis::method_names::names;
use crate::analysis::options::{Options, Sort};
use crate::format::allocation_text::{describe, total_text, unsized_remarks};
use crate::format::bounds::mark;
use crate::format::notes::write_sentences;
use crate::model::Profile;
use crate::model::{Allocations, Amount};
use loadhook_text::java::in_loaders;
use loadhook_text::java::simple_type_names;
use loadhook_text::units::{self, Quantity, UNKNOWN, Unit};
use loadhook_text::width::joined;

/// Only errors above this percentage of the bytes are shown.
const NOTABLE_ERROR: f64 = 5.0;

/// Returns the chosen places. The default order is by `measure`, the largest first; the options can
/// order by objects or names.
fn rows<'p>(
    profile: &'p Profile,
    allocations: &'p Allocations,
    options: &'p Options<'_>,
    measure: Measure,
) -> Vec<Place<'p>> {
    let mut rows = places(profile, allocations, options);
    let names = match options.sort {
        Sort::Name => names(&profile.methods),
        _ => Vec::new(),
    };
    let name = |row: &Place<'_>| row.method.and_then(|method| names.get(method as usize));
    rows.sort_by(|a, b| {
        let bytes = weight(b, measure).total_cmp(&weight(a, measure));
        let [a_objects, b_objects] = [a, b].map(|row| row.amount(measure).objects);
        let objects = b_objects.total_cmp(&a_objects);
        let sorted = match options.sort {
            Sort::Name => name(a).cmp(&name(b)),
            Sort::Calls => objects.then(bytes),
            Sort::SelfTime | Sort::Total | Sort::Mean | Sort::P99 => bytes.then(objects),
        };
        sorted.then_with(|| (a.method, a.line, a.type_name).cmp(&(b.method, b.line, b.type_name)))
    });
    rows
}

/// Writes the table of allocations. The caller has written the program's command line.
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
        return writeln!(out, "No allocations match these filters");
    }
    let whole: f64 = rows.iter().map(|row| weight(row, measure)).sum();
    let (_, unsized_objects) = total(&rows, Measure::Allocated);
    rows.truncate(options.top.unwrap_or(all));
    let methods = names(&profile.methods);
    let name = |row: &Place<'_>| {
        let name = row.method.map(|method| methods[method as usize].as_str());
        let method = row.method.map(|method| &profile.methods[method as usize]);
        place_name(name, row.line)
            + &method.map_or(String::new(), |method| in_loaders(method.loaders))
    };
    let places: Vec<String> = rows.iter().map(name).collect();
    let types = simple_type_names(rows.iter().map(|row| row.type_name));
    let columns = columns(allocations, &rows, measure, whole, options.sort);
    let columns = with_types(columns, &types, &places, options.width);
    text_table(&columns, "place", &places, options.width, out)?;
    if rows.len() < all {
        writeln!(
            out,
            "{:>4}  {} more",
            "",
            units::count((all - rows.len()) as u64)
        )?;
    }
    let mut remarks = Vec::new();
    if columns.iter().any(|column| column.title == ERROR) {
        remarks.push(ERRORS.to_owned());
    }
    remarks.extend(unsized_remarks(unsized_objects));
    if !remarks.is_empty() {
        writeln!(out)?;
    }
    write_sentences(remarks, options.width, out)
}

fn weight(row: &Place<'_>, measure: Measure) -> f64 {
    row.amount(measure).bytes.unwrap_or(0.0)
}

/// Writes the sum of all allocations, and how they were recorded.
fn head(
    allocations: &Allocations,
    rows: &[Place<'_>],
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let about = if allocations.seen.is_sampled() {
        "~"
    } else {
        ""
    };
    let told = |what: &str, measure| format!("{what} {}", total_text(total(rows, measure), about));
    let mut facts = vec![told("allocated", Measure::Allocated)];
    if allocations.live {
        facts.push(told("alive", Measure::Live));
    }
    facts.push(describe(allocations.seen));
    writeln!(out, "{}\n", joined(&facts, options.width))
}

fn columns(
    allocations: &Allocations,
    rows: &[Place<'_>],
    measure: Measure,
    whole: f64,
    sort: Sort,
) -> Vec<Column> {
    let cells = |cell: &dyn Fn(&Place<'_>) -> String| rows.iter().map(cell).collect::<Vec<_>>();
    let ranks = (1..=rows.len()).map(|rank| rank.to_string()).collect();
    let share = |row: &Place<'_>| {
        if whole > 0.0 {
            format!("{:.1} %", 100.0 * weight(row, measure) / whole)
        } else {
            UNKNOWN.to_owned()
        }
    };
    let mut columns = vec![
        Column::new("#", 0, ranks),
        Column::new("bytes %", 0, cells(&share)),
    ];
    let amounts = |title: &str, spare: [u8; 3], of: Measure| {
        let bytes = rows.iter().filter_map(|row| row.amount(of).bytes);
        let unit = Unit::for_largest(bytes.fold(0.0, f64::max), Quantity::Bytes);
        let bytes = |row: &Place<'_>| {
            let least = mark(false, row.unsized_objects(of) > 0.0);
            let bytes = row.amount(of).bytes;
            bytes.map_or(UNKNOWN.to_owned(), |bytes| {
                format!("{least}{}", unit.number(bytes))
            })
        };
        let objects = |row: &Place<'_>| units::decimal(row.amount(of).objects, 0);
        let made = [
            Column::new(&format!("{title}{}", unit.name), spare[0], cells(&bytes)),
            Column::new(ERROR, spare[1], cells(&|row| error(row.amount(of)))),
            Column::new(&format!("{title}objects"), spare[2], cells(&objects)),
        ];
        made.into_iter().filter(|column| column.has_text())
    };
    // The column that decides the order comes first and is dropped last. Bytes come before their
    // error.
    let by_objects = if sort == Sort::Calls { 0 } else { 3 };
    let (first, second) = ([0, 1, by_objects], [2, 6, 5]);
    let allocated = |spare| amounts("", spare, Measure::Allocated);
    if !allocations.live {
        columns.extend(allocated(first));
        return columns;
    }
    let live = |spare| amounts("live ", spare, Measure::Live);
    let age = |row: &Place<'_>| {
        if row.amount(Measure::Live).objects > 0.0 {
            units::decimal(row.amounts.live_age, 1)
        } else {
            String::new()
        }
    };
    let age = Column::new("age", 4, cells(&age));
    if measure == Measure::Live {
        columns.extend(live(first).chain([age]).chain(allocated(second)));
    } else {
        columns.extend(allocated(first).chain(live(second)).chain([age]));
    }
    columns
}

/// Returns the standard error of an amount's bytes, if it is large enough to be shown.
fn error(amount: Amount) -> String {
    let Some(bytes) = amount.bytes else {
        return String::new();
    };
    match 100.0 * amount.bytes_variance.sqrt() / bytes.max(1.0) {
        ..=NOTABLE_ERROR => String::new(),
        percent @ ..=999.0 => format!("{percent:.0} %"),
        _ => ">999 %".to_owned(),
    }
}
