//! Marks of numbers that are upper or lower bounds, and of methods that were only counted from some moment on.

use loadhook_text::units;

/// Returns the mark before an upper or a lower bound; empty for other numbers.
pub(super) fn mark(is_most: bool, is_least: bool) -> &'static str {
    match (is_most, is_least) {
        (true, _) => "≤",
        (false, true) => "≥",
        (false, false) => "",
    }
}

/// The mark before the calls of a method that was only counted from some moment on.
pub(super) const COUNTED: &str = "‡";

/// Returns the explanation of [`COUNTED`]. `first_ns` is the time at which the first of the marked methods lost its
/// timing probes.
pub(super) fn counted_only(first_ns: u64) -> String {
    format!(
        "{COUNTED} lost its timing probes while the program ran, the first method after {}: later calls are counted but not timed, and their time is in their callers' self time",
        units::time(first_ns as f64)
    )
}

/// The mark before a number of calls whose durations are known, if the method has other calls.
pub(super) const FEWER: &str = "†";

/// Returns the explanation of [`FEWER`]. The text has the numbers of one marked method, which has `all` calls,
/// `known` of them with known durations.
pub(super) fn fewer(known: u64, all: u64) -> String {
    format!(
        "{FEWER} percentiles of a part of the calls ({} of {} for the first such method): the others had not ended, were not timed, or there was too little heap to record them",
        units::count(known),
        units::count(all)
    )
}
