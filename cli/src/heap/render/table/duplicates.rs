//! The table of strings and arrays that occur more than once.

use std::io::{self, Write};

use loadhook_heap::{Duplicate, Duplicates};
use loadhook_text::units::noun;
use loadhook_text::{bytes, count};

use super::super::super::views::duplicates::left_out;
use super::super::columns;
use super::super::text::{PARTIAL_STRINGS, head, percent, rest, width};

/// Writes the values that waste the most bytes.
pub(in crate::heap) fn write(
    found: &Duplicates,
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    head(&found.histogram, out)?;
    for (what, waste) in [("strings", found.strings), ("arrays", found.arrays)] {
        writeln!(
            out,
            "{} wasted by duplicates: {} {what} have {} distinct {}",
            bytes(waste.bytes),
            count(waste.objects),
            count(waste.values),
            noun(waste.values, "value", "values"),
        )?;
    }
    if found.partial_strings > 0 {
        writeln!(out, "{} {PARTIAL_STRINGS}", count(found.partial_strings))?;
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
    columns::write_texts(&rows, width(), out)?;
    let all = found.worst.len() as u64 + left_out(found);
    rest(all as usize, top, ["value", "values"], out)
}

/// Returns the beginning of a value: `"text"`, `int[3] {1, 2, 3}`.
pub(in crate::heap) fn value(row: &Duplicate) -> String {
    let text = &row.preview.text;
    let more = if row.preview.is_cut { "…" } else { "" };
    // Three `int[]` in an `int[][]` are written `int[3][]`.
    let class = row
        .class
        .replacen("[]", &format!("[{}]", row.preview.length), 1);
    match &*row.class {
        _ if row.is_string => format!("\"{text}{more}\""),
        "char[]" => format!("{class} \"{text}{more}\""),
        _ => format!(
            "{class} {{{text}{}}}",
            if more.is_empty() { "" } else { ", …" }
        ),
    }
}
