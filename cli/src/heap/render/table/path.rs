//! The path from an object to its root, as text.

use std::io::{self, Write};

use loadhook_text::{bytes, clipped, printable};
use unicode_width::UnicodeWidthStr;

use super::super::super::views::path::{PathToRoot, Step};
use super::super::columns;
use super::super::root_line::root_line;
use super::super::text::{id, more_of, width};

/// Minimum number of columns for the name of a class.
const NARROWEST_NAME: usize = 20;

/// Writes the path, one line per object.
pub(in crate::heap) fn write(view: &PathToRoot, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let width = width();
    steps(view, width, out)?;
    writeln!(out, "{}", root_line(&view.root, width))?;
    if !view.others.is_empty() {
        let shown = view.others.iter().take(top).map(|other| id(*other));
        let shown: Vec<String> = shown.collect();
        let more = if shown.len() < view.others.len() {
            " …"
        } else {
            ""
        };
        writeln!(
            out,
            "other classes of the same name: {}{more}",
            shown.join(" ")
        )?;
    }
    Ok(())
}

/// Writes the objects that are shown, and the number of objects left out between them.
fn steps(view: &PathToRoot, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let gap = view.steps.len().div_ceil(2);
    let (before, behind) = view.steps.split_at(gap);
    for step in before {
        writeln!(out, "{}", line(step, width))?;
    }
    if view.left_out > 0 {
        let left_out = more_of(view.left_out, ["object", "objects"]);
        writeln!(out, "  … {left_out} (--top N shows more)")?;
    }
    for step in behind {
        writeln!(out, "{}", line(step, width))?;
    }
    Ok(())
}

/// Returns the line of an object: `  ↑ next of Node 0x7f00 · retains 24 bytes`. The identifier is
/// never cut.
fn line(step: &Step, width: usize) -> String {
    let by = step.refers_by.as_ref().map_or(String::new(), |name| {
        format!("  ↑ {} of ", clipped(&printable(name), width / 2))
    });
    let rest = format!(" {} · retains {}", id(step.id), bytes(step.retained));
    let room = width.saturating_sub(by.width() + rest.width());
    let name = columns::object(&printable(&step.class), room.max(NARROWEST_NAME));
    format!("{by}{name}{rest}")
}
