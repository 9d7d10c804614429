//! Columns of numbers before a column of names.

use std::io::{self, Write};

use loadhook_text::{clipped, printable, shorten};

/// Minimum number of columns for names.
const NARROWEST_NAME: usize = 20;

/// Writes a table whose first row has the titles. The names in the last column are shortened to the
/// width that is left.
pub(in crate::heap) fn write(
    rows: &[Vec<String>],
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_with(object, rows, width, out)
}

/// Writes a table like [`write()`], but cuts the texts in the last column at their ends.
pub(in crate::heap) fn write_texts(
    rows: &[Vec<String>],
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_with(clipped, rows, width, out)
}

/// Shortens the name of a class. A leading word `class`, as in `class java.lang.String`, stays.
pub(in crate::heap) fn object(name: &str, width: usize) -> String {
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
