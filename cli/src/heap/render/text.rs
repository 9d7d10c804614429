//! Sentences and formats that all renderers share.

use std::io::{self, Write};
use std::path::Path;

use loadhook_heap::{Header, Histogram};
use loadhook_text::date::utc;
use loadhook_text::terminal::columns;
use loadhook_text::units::noun;
use loadhook_text::width::{folded, joined};
use loadhook_text::{bytes, clipped, count, printable};

/// Width of a table that is not written to a terminal.
const COLUMNS: usize = 80;

/// Maximum number of columns of a name on a page. A longer name is cut.
const LONGEST_NAME: usize = 300;

/// The note about uncompressed bytes after the compressed dump.
pub(in crate::heap) const TRAILING_BYTES: &str = "the bytes that follow the gzip data are ignored";

/// The note about a dump that is cut off before its roots.
pub(in crate::heap) const NO_ROOTS: &str = "the readable part of the dump has no GC roots (JDK 17 and earlier write them at the end), so retained sizes cannot be computed";

/// The note about a dump that is cut off among its roots.
pub(in crate::heap) const FEW_ROOTS: &str = "GC roots and objects may be missing (JDK 17 and earlier write roots at the end), so retained sizes, paths to roots and unreachable objects can be wrong";

/// The words after the number of unreachable objects.
pub(in crate::heap) const UNREACHABLE: &str = "objects are unreachable or only weakly reachable";

/// The words after the number of strings that were not compared.
pub(in crate::heap) const PARTIAL_STRINGS: &str =
    "strings are parts of larger arrays and were not compared";

/// Returns the printable name of a file, for messages.
pub(in crate::heap) fn shown(file: &Path) -> String {
    printable(&file.display().to_string()).into_owned()
}

/// Returns a name for the page: printable, and not too long.
pub(in crate::heap) fn shortened(name: &str) -> String {
    clipped(&printable(name), LONGEST_NAME)
}

/// Returns an identifier in the form that is printed and that options accept.
pub(in crate::heap) fn id(id: u64) -> String {
    format!("{id:#x}")
}

/// Returns the number of columns for tables and sentences.
pub(in crate::heap) fn width() -> usize {
    columns(io::stdout(), COLUMNS)
}

/// Writes a sentence, folded at the width of tables.
pub(in crate::heap) fn sentence(text: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", folded(text, width()))
}

/// Writes the lines above all tables of one dump.
pub(in crate::heap) fn head(histogram: &Histogram, out: &mut dyn Write) -> io::Result<()> {
    let Header { id_size, time_ms } = histogram.header;
    let facts = [
        format!("{} objects", count(histogram.instances())),
        bytes(histogram.bytes()),
        format!("dumped {}", utc(time_ms)),
        format!("ids of {id_size} bytes"),
    ];
    writeln!(out, "{}\n", joined(&facts, width()))?;
    if let Some(left_out) = left_out(histogram) {
        sentence(&left_out, out)?;
        writeln!(out)?;
    }
    Ok(())
}

/// Returns the line about the profiler's own objects, which are left out.
pub(in crate::heap) fn left_out(histogram: &Histogram) -> Option<String> {
    let left_out = histogram.left_out;
    (left_out.instances > 0).then(|| {
        format!(
            "The profiler's own objects, {} of {}, are left out; --all shows them",
            bytes(left_out.bytes),
            bytes(left_out.bytes.saturating_add(histogram.bytes())),
        )
    })
}

/// Returns a part of a whole as `12.3 %`.
pub(in crate::heap) fn percent(part: u64, all: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / all.max(1) as f64)
}

/// Returns the number of omitted items in words: `1 more class`, `246 more classes`.
pub(in crate::heap) fn more_of(number: usize, [one, several]: [&str; 2]) -> String {
    let number = number as u64;
    format!("{} more {}", count(number), noun(number, one, several))
}

/// Writes the number of omitted rows, if any. `nouns` are the words for one row and for several.
pub(in crate::heap) fn rest(
    all: usize,
    top: usize,
    nouns: [&str; 2],
    out: &mut dyn Write,
) -> io::Result<()> {
    match all.saturating_sub(top) {
        0 => Ok(()),
        more => writeln!(out, "{} (--top N shows more)", more_of(more, nouns)),
    }
}
