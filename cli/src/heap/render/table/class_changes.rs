//! The table of the differences between two dumps.

use std::io::{self, Write};

use loadhook_text::date::utc;
use loadhook_text::{bytes, count};

use super::super::super::views::class_changes::{ClassChanges, changes, difference};
use super::super::columns;
use super::super::text::{left_out, rest, sentence, width};

/// Writes the changes, class by class.
pub(in crate::heap) fn write(
    view: &ClassChanges,
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let both = view.histograms.each_ref();
    let (all, changed) = changes(both);
    for ((side, name), histogram) in ["before", "after"].iter().zip(&view.names).zip(both) {
        let facts = format!(
            "{side:6}  {} objects · {} · dumped {} · {name}",
            count(histogram.instances()),
            bytes(histogram.bytes()),
            utc(histogram.header.time_ms),
        );
        sentence(&facts, out)?;
        if let Some(left_out) = left_out(histogram) {
            sentence(&format!("        {left_out}"), out)?;
        }
    }
    let told = format!(
        "{} of {} classes changed; bytes and instances are those of the second dump, ± the change from the first",
        count(changed.len() as u64),
        count(all as u64),
    );
    sentence(&told, out)?;
    writeln!(out)?;
    let titles = ["#", "± bytes", "bytes", "± instances", "instances", "class"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    for (rank, (name, change)) in changed.iter().take(top).enumerate() {
        rows.push(vec![
            (rank + 1).to_string(),
            signed(change.bytes, bytes),
            bytes(change.bytes[1]),
            signed(change.instances, count),
            count(change.instances[1]),
            (*name).to_owned(),
        ]);
    }
    columns::write(&rows, width(), out)?;
    rest(changed.len(), top, ["class", "classes"], out)
}

fn signed(both: [u64; 2], text: fn(u64) -> String) -> String {
    let sign = match difference(both) {
        ..0 => "−",
        0 => "",
        _ => "+",
    };
    format!("{sign}{}", text(both[0].abs_diff(both[1])))
}
