//! Columns of numbers before a name.

use std::io::{self, Write};

use loadhook_text::{clipped, printable, shorten};

/// Least room for names.
const NARROWEST_NAME: usize = 20;

/// A table whose first row is the titles; its last column is names, to the
/// left, shortened to what the width leaves.
pub(super) fn write(rows: &[Vec<String>], width: usize, out: &mut dyn Write) -> io::Result<()> {
    write_with(object, rows, width, out)
}

/// The same, whose last column is text that is cut at its end.
pub(super) fn write_texts(
    rows: &[Vec<String>],
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_with(clipped, rows, width, out)
}

/// A class's name, shortened; of `class java.lang.String` that name, not what says that
/// it is the class itself.
pub(super) fn object(name: &str, width: usize) -> String {
    let class = "class ";
    match name.strip_prefix(class) {
        Some(name) => format!(
            "{class}{}",
            shorten(name, width.saturating_sub(class.len()))
        ),
        None => shorten(name, width),
    }
}

fn write_with(
    cut: fn(&str, usize) -> String,
    rows: &[Vec<String>],
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let numbers = rows.first().map_or(0, |titles| titles.len() - 1);
    let wide = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..numbers).map(wide).collect();
    let taken: usize = widths.iter().map(|width| width + 2).sum();
    let left = width.saturating_sub(taken).max(NARROWEST_NAME);
    for row in rows {
        for (cell, width) in row.iter().zip(&widths) {
            write!(out, "{cell:>width$}  ")?;
        }
        writeln!(out, "{}", cut(&printable(&row[numbers]), left))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::object;

    #[test]
    fn a_class_stays_one_when_its_name_is_shortened() {
        let name = "class java.util.concurrent.locks.AbstractQueuedSynchronizer";
        assert_eq!(object(name, 60), name);
        let short = object(name, 30);
        assert!(
            short.starts_with("class ") && short.ends_with("edSynchronizer"),
            "{short}"
        );
        assert_eq!(short.chars().count(), 30);
    }
}
