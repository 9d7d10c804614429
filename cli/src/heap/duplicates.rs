//! Strings and arrays that are there more than once.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use loadhook_heap::{Duplicate, Duplicates, Error, ErrorKind, Profiler, Waste};
use loadhook_text::{bytes, count};
use serde_json::{Value, json};

use super::memory::to_take;
use super::report::{COLUMNS, Format, ReportArgs, head, id, percent, rest, whole};
use super::source::Source;
use super::{json, kept, table};
use crate::output::columns;

/// Shows what wastes most.
pub(super) fn run(file: &Path, args: &ReportArgs, out: &mut dyn Write) -> Result<()> {
    let (found, cut_off) = read(&Source::open(file)?, args.top, kept::profiler(args))?;
    whole(file, args, cut_off.map_or(Ok(()), Err), &found.histogram)?;
    match args.format {
        Format::Json => write_json(&found, out)?,
        _ => table(&found, args, out)?,
    }
    Ok(())
}

/// Finds them, of a dump that may be cut off.
pub(super) fn read(
    source: &Source,
    top: usize,
    profiler: Profiler,
) -> Result<(Duplicates, Option<Error>)> {
    let memory = to_take();
    let read = source.several_times(|| Duplicates::read(|| source.again(), top, memory, profiler));
    read.map_err(|error| match error.downcast_ref::<Error>() {
        Some(Error {
            kind: ErrorKind::TooMany { .. },
            ..
        }) => error.context(format!("the hashes have room for {}", bytes(memory))),
        _ => error,
    })
}

/// What is said of strings that are compared with none.
pub(super) const PARTS: &str = "strings are parts of larger arrays and were not compared";

/// How many rows are not shown.
pub(super) fn left_out(found: &Duplicates) -> u64 {
    let all = found.strings.values + found.arrays.values;
    all.saturating_sub(found.worst.len() as u64)
}

fn table(found: &Duplicates, args: &ReportArgs, out: &mut dyn Write) -> io::Result<()> {
    head(&found.histogram, out)?;
    for (what, waste) in [("strings", found.strings), ("arrays", found.arrays)] {
        writeln!(
            out,
            "{} wasted by {} {what} of {} values",
            bytes(waste.bytes),
            count(waste.objects),
            count(waste.values),
        )?;
    }
    if found.parts > 0 {
        writeln!(out, "{} {PARTS}", count(found.parts))?;
    }
    writeln!(out)?;
    let titles = ["#", "wasted %", "wasted", "count", "bytes", "value"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    let all = found.histogram.bytes();
    for (rank, row) in found.worst.iter().enumerate() {
        rows.push(vec![
            (rank + 1).to_string(),
            percent(row.wasted, all),
            bytes(row.wasted),
            count(row.count),
            bytes(row.bytes),
            value(row),
        ]);
    }
    table::write_texts(&rows, columns(io::stdout(), COLUMNS), out)?;
    let all = found.worst.len() as u64 + left_out(found);
    rest(all as usize, args.top, "values", out)
}

/// `"text"`, `int[3] {1, 2, 3}`; of long ones the beginning.
pub(super) fn value(row: &Duplicate) -> String {
    let text = &row.contents.text;
    let more = if row.contents.is_cut { "…" } else { "" };
    // `int[][]` of three is `int[3][]`.
    let class = row
        .class
        .replacen("[]", &format!("[{}]", row.contents.length), 1);
    match &*row.class {
        _ if row.is_string => format!("\"{text}{more}\""),
        "char[]" => format!("{class} \"{text}{more}\""),
        _ => format!(
            "{class} {{{text}{}}}",
            if more.is_empty() { "" } else { ", …" }
        ),
    }
}

fn write_json(found: &Duplicates, out: &mut dyn Write) -> io::Result<()> {
    let view = json!({
        "strings": waste_json(found.strings),
        "arrays": waste_json(found.arrays),
        "parts": found.parts,
        "duplicates": found.worst.iter().map(row_json).collect::<Vec<_>>(),
        "left_out": left_out(found),
    });
    json::write(&found.histogram, json::map(view), out)
}

pub(super) fn waste_json(waste: Waste) -> Value {
    json!({
        "values": waste.values,
        "instances": waste.objects,
        "wasted": waste.bytes,
    })
}

fn row_json(row: &Duplicate) -> Value {
    json!({
        "class": &*row.class,
        "array": id(row.array),
        "instances": row.count,
        "bytes": row.bytes,
        "wasted": row.wasted,
        "text": row.contents.text,
        "length": row.contents.length,
        "is_cut": row.contents.is_cut,
    })
}
