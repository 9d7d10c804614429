//! The table of the classes of a dump.

use std::io::{self, Write};

use loadhook_heap::Histogram;
use loadhook_text::{bytes, count};

use super::super::columns;
use super::super::text::{head, percent, rest, width};

/// Writes the classes, ordered by the bytes of their objects.
pub(in crate::heap) fn write(
    histogram: &Histogram,
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    head(histogram, out)?;
    let all = histogram.bytes();
    let titles = ["#", "bytes %", "bytes", "instances", "class"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    for (rank, class) in histogram.classes.iter().take(top).enumerate() {
        rows.push(vec![
            (rank + 1).to_string(),
            percent(class.bytes, all),
            bytes(class.bytes),
            count(class.instances),
            class.name.to_string(),
        ]);
    }
    columns::write(&rows, width(), out)?;
    rest(histogram.classes.len(), top, ["class", "classes"], out)
}
