//! The table of pauses of the garbage collector.

use std::io::{self, Write};

use loadhook_text::width::joined;
use loadhook_text::{printable, units};

use super::columns::{Column, fitted, text_table};
use crate::analysis::gc_pauses::ordered;
use crate::analysis::options::Options;
use crate::format::gc_text::{cause, facts, share};
use crate::model::{GcPauses, Profile};

/// Writes the pauses by cause and collector, if they were recorded.
pub(super) fn write(
    profile: &Profile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (Some(facts), Some(pauses)) = (facts(profile), &profile.gc_pauses) else {
        return Ok(());
    };
    writeln!(out, "\n{}", joined(&facts, options.width))?;
    let rows = ordered(pauses);
    if rows.is_empty() {
        return Ok(());
    }
    let cells = |cell: &dyn Fn(&GcPauses) -> String| rows.iter().map(|row| cell(row)).collect();
    let columns = vec![
        Column::new("pauses", 0, cells(&|row| units::count(row.pauses))),
        Column::new("time", 0, cells(&|row| units::time(row.total_ns as f64))),
        Column::new(
            "%",
            0,
            cells(&|row| share(row.total_ns, profile.header.watched_ns())),
        ),
        Column::new(
            "longest",
            0,
            cells(&|row| units::time(row.longest_ns as f64)),
        ),
        Column::new(
            "collector",
            1,
            cells(&|row| printable(&row.collector).into_owned()),
        ),
    ];
    let causes: Vec<String> = cells(&|row| printable(cause(row)).into_owned());
    let columns = fitted(columns, &causes, options.width);
    text_table(&columns, "cause", &causes, options.width, out)
}
