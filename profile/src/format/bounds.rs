//! Marks of numbers that are bounds of the true ones.

/// The mark before a number that is an upper or a lower bound; empty for other numbers.
pub(super) fn mark(is_most: bool, is_least: bool) -> &'static str {
    match (is_most, is_least) {
        (true, _) => "≤",
        (false, true) => "≥",
        (false, false) => "",
    }
}
