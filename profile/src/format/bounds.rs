//! Marks of numbers that are upper or lower bounds.

/// The mark before an upper or a lower bound; empty for other numbers.
pub(super) fn mark(is_most: bool, is_least: bool) -> &'static str {
    match (is_most, is_least) {
        (true, _) => "≤",
        (false, true) => "≥",
        (false, false) => "",
    }
}
