//! A table: columns of numbers, then a name; and the texts of its numbers.

use loadhook_text::count;
use loadhook_text::units::decimal;

use crate::top::model::Model;

/// A column of numbers.
#[derive(Clone, Copy)]
pub(in crate::top) struct Column {
    pub(in crate::top) title: &'static str,
    pub(in crate::top) width: usize,
}

/// The sign for a number that is not known.
pub(super) const UNKNOWN: &str = "–";

/// A table, with the figures of its rows.
pub(in crate::top) trait Rows {
    fn columns(&self) -> &'static [Column];
    /// Returns the title of the column of names.
    fn title(&self) -> String;
    fn len(&self) -> usize;
    fn name(&self, row: usize) -> &str;
    /// Returns the value by which a row is sorted, the largest first.
    fn number(&self, row: usize, column: usize) -> f64;
    fn cell(&self, row: usize, column: usize) -> String;
    /// Returns the method of a row, as an index into the picture's names.
    fn method(&self, row: usize) -> Option<u32>;
    /// Returns false if the rows have a fixed order, such as a call tree's.
    fn can_sort(&self) -> bool {
        true
    }
    /// Returns the text that is shown if there are no rows.
    fn nothing(&self) -> &'static str {
        "nothing in this interval"
    }
    /// Returns the text before a row's name. Unlike the name, it is never shortened.
    fn lead(&self, _row: usize) -> String {
        String::new()
    }
    /// Returns `lead` and `name` together. Filters search in this text, and the cursor follows the row that has it.
    fn label(&self, row: usize) -> String {
        self.lead(row) + self.name(row)
    }
}

/// Returns the rows whose labels contain `filter`, sorted by `column`. A number beyond the last column of numbers sorts
/// by names.
pub(in crate::top) fn order(
    rows: &dyn Rows,
    filter: &str,
    column: usize,
    is_reversed: bool,
) -> Vec<usize> {
    let wanted = filter.to_lowercase();
    let is_kept =
        |row: &usize| wanted.is_empty() || rows.label(*row).to_lowercase().contains(&wanted);
    let mut order: Vec<usize> = (0..rows.len()).filter(is_kept).collect();
    if !rows.can_sort() {
        return order;
    }
    let is_by_name = column >= rows.columns().len();
    // Rows of equal values stay in the picture's order.
    order.sort_by(|a, b| {
        let order = if is_by_name {
            rows.name(*a).cmp(rows.name(*b))
        } else {
            rows.number(*b, column).total_cmp(&rows.number(*a, column))
        };
        if is_reversed { order.reverse() } else { order }
    });
    order
}

/// Formats a value per second: with one decimal below 100, as a whole number from there on.
pub(super) fn rate(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        ..99.95 => decimal(value, 1),
        _ => count(value.round() as u64),
    }
}

pub(super) fn percent(value: f64) -> String {
    decimal(value, 1)
}

pub(super) fn known(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or(UNKNOWN.to_owned(), text)
}

pub(super) fn named(model: &Model, method: u32) -> &str {
    let name = model.picture.names.get(method as usize);
    name.map_or("", String::as_str)
}
