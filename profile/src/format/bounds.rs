//! Marks of numbers that are bounds of the true ones.

/// What is written before a time that is no more, or no less, than is shown.
pub(super) fn mark(is_most: bool, is_least: bool) -> &'static str {
    match (is_most, is_least) {
        (true, _) => "≤",
        (false, true) => "≥",
        (false, false) => "",
    }
}
