//! Text tables: columns of numbers, then names.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use loadhook_text::java::shorten;

/// The smallest width to which a name at the end of a line is cut.
pub(in crate::format) const NARROWEST_NAME: usize = 24;

/// Columns are dropped before the names of methods get narrower than this.
const NARROW_NAME: usize = 30;

/// Columns are dropped before types get narrower than this.
const NARROW_TYPE: usize = 14;

/// Escape sequences: dim text, and normal text again.
const GREY: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// A column of text: a title, and a cell for each row. All are aligned to the right.
pub(crate) struct Column {
    pub(crate) title: String,
    cells: Vec<String>,
    /// The order in which columns are dropped if there is no room for all: the highest number
    /// first; 0 is never dropped.
    spare: u8,
}

impl Column {
    pub(crate) fn new(title: &str, spare: u8, cells: Vec<String>) -> Column {
        Column {
            title: title.to_owned(),
            cells,
            spare,
        }
    }

    /// Returns whether any cell has text.
    pub(crate) fn has_text(&self) -> bool {
        self.cells.iter().any(|cell| !cell.is_empty())
    }

    fn width(&self) -> usize {
        let cells = self.cells.iter().chain([&self.title]);
        cells.map(|cell| cell.width()).max().unwrap_or(0)
    }
}

/// Returns the width of the columns, with the spaces after them.
fn taken(columns: &[Column]) -> usize {
    columns.iter().map(|column| column.width() + 2).sum()
}

fn longest(names: &[impl AsRef<str>]) -> usize {
    let widths = names.iter().map(|name| name.as_ref().width());
    widths.max().unwrap_or(0)
}

/// Drops columns until `room` of `width` is left, if possible.
fn leaving(room: usize, mut columns: Vec<Column>, width: usize) -> Vec<Column> {
    while taken(&columns) + room > width {
        let spare = columns.iter().map(|column| column.spare).max();
        let Some(spare) = spare.filter(|spare| *spare > 0) else {
            break;
        };
        columns.retain(|column| column.spare < spare);
    }
    columns
}

/// Returns the width that remains for the names after the columns.
pub(crate) fn name_width(columns: &[Column], width: usize) -> usize {
    width.saturating_sub(taken(columns)).max(NARROWEST_NAME)
}

/// Returns the columns that fit beside the names.
pub(crate) fn fitted(columns: Vec<Column>, names: &[impl AsRef<str>], width: usize) -> Vec<Column> {
    leaving(longest(names).min(NARROW_NAME), columns, width)
}

/// Writes columns, and names under the title `title`.
pub(crate) fn text_table(
    columns: &[Column],
    title: &str,
    names: &[impl AsRef<str>],
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    partly_grey(columns, title, names, width, &|_| false, out)
}

/// Writes columns and names, some of the rows in grey.
pub(crate) fn partly_grey(
    columns: &[Column],
    title: &str,
    names: &[impl AsRef<str>],
    width: usize,
    is_grey: &dyn Fn(usize) -> bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let left = name_width(columns, width);
    let widths: Vec<usize> = columns.iter().map(Column::width).collect();
    let line = |cell: &dyn Fn(&Column) -> String, name: &str| {
        let mut line = String::new();
        for (column, width) in columns.iter().zip(&widths) {
            let cell = cell(column);
            line.push_str(&" ".repeat(width.saturating_sub(cell.width())));
            line.push_str(&cell);
            line.push_str("  ");
        }
        line + name
    };
    writeln!(out, "{}", line(&|column| column.title.clone(), title))?;
    for (at, name) in names.iter().enumerate() {
        let name = shorten(name.as_ref(), left);
        let line = line(&|column| column.cells[at].clone(), &name);
        if is_grey(at) {
            writeln!(out, "{GREY}{line}{PLAIN}")?
        } else {
            writeln!(out, "{line}")?
        }
    }
    Ok(())
}

/// Returns the columns that fit beside the types and the places in the code that allocate them. After these columns
/// comes the column of types, shortened to its width.
pub(crate) fn with_types(
    columns: Vec<Column>,
    types: &[String],
    places: &[String],
    width: usize,
) -> Vec<Column> {
    let [widest_type, widest_place] = [types, places].map(longest);
    let [narrow_type, narrow_place] = [
        widest_type.min(NARROW_TYPE),
        widest_place.min(NARROWEST_NAME),
    ];
    // The 2 stands for the spaces after the types.
    let mut columns = leaving(narrow_type + 2 + narrow_place, columns, width);
    let left = width.saturating_sub(taken(&columns) + 2);
    // Types get a third of the room, or the room that places leave.
    let room = left.saturating_sub(widest_place).max(left / 3);
    let room = room.max(narrow_type);
    let types = types.iter().map(|name| shorten(name, room)).collect();
    columns.push(Column::new("type", 0, types));
    columns
}
