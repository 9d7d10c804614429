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
        "{COUNTED} lost its timing probes while the program ran, the first method {}: later calls are counted but not timed, and their time is in their callers' self time",
        after(first_ns)
    )
}

/// Returns the mark before the calls of a method. `since_ns` and `until_ns` are the times of the loss of its timing
/// probes and of its last probe.
pub(super) fn calls_mark(since_ns: Option<u64>, until_ns: Option<u64>) -> &'static str {
    match (since_ns, until_ns) {
        (_, Some(_)) => mark(false, true),
        (Some(_), None) => COUNTED,
        (None, None) => "",
    }
}

/// Returns the explanation of `≥` before calls. `first_ns` is the time at which the first of the marked methods lost
/// its last probe. `is_sampled` is true if times come from samples.
pub(super) fn counted_until(first_ns: u64, is_sampled: bool) -> String {
    let times = match is_sampled {
        true => "their times are complete, but they have no mean",
        false => "their time is in their callers' self time",
    };
    format!(
        "≥ before calls: lost its last probe while the program ran, the first method {}: later calls are not counted; {times}",
        after(first_ns)
    )
}

/// Returns when something happened. 0 stands for all times before the profile's start.
pub(super) fn after(ns: u64) -> String {
    match ns {
        0 => "before this profile began".to_owned(),
        ns => format!("after {}", units::time(ns as f64)),
    }
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
