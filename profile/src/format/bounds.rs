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

/// Returns the explanation of [`COUNTED`]; `None` without marked methods. `moments` are the times at which the marked
/// methods lost their timing probes, 0 for a method without timing probes in this profile.
pub(super) fn counted_only(moments: impl Iterator<Item = u64> + Clone) -> Option<String> {
    let has_none = moments.clone().any(|moment| moment == 0);
    let lost = moments.filter(|moment| *moment > 0).min();
    let lost = lost.map(|first| {
        let first = after(first);
        format!("lost its timing probes while the program ran, the first method {first}")
    });
    let what = match (lost, has_none) {
        (None, false) => return None,
        (None, true) => "had no timing probes in this profile: calls".to_owned(),
        (Some(lost), false) => format!("{lost}: later calls"),
        (Some(lost), true) => format!("{lost}, or had none in this profile: other calls"),
    };
    Some(format!(
        "{COUNTED} {what} are counted but not timed, and their time is in their callers' self time"
    ))
}

/// Returns the explanation of `≥` before calls that lack those after the loss of the timing probes. `what` stands behind
/// the mark: `‡` or `calls`.
pub(super) fn without_later(what: &str) -> String {
    format!(
        "≥ before {what}: without the calls that are only counted, because these are counted for all threads and callers together"
    )
}

/// Returns the mark before the calls of a method. `since_ns` and `until_ns` are the times of the loss of its timing
/// probes and of its last probe. `lacks_later` is true if calls after the loss of the timing probes are not in the
/// number, because they are known for all threads and callers together only.
pub(super) fn calls_mark(
    since_ns: Option<u64>,
    until_ns: Option<u64>,
    lacks_later: bool,
) -> &'static str {
    match (since_ns, until_ns) {
        (_, Some(_)) => mark(false, true),
        (Some(_), None) if lacks_later => "≥‡",
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

/// Returns the loss of probes in words, for the line of a method in a tree. A time of 0 stands for all times before the
/// profile's start.
pub(super) fn lost_probes(since_ns: Option<u64>, until_ns: Option<u64>) -> Option<String> {
    let not_timed = |since| match since {
        0 => "not timed in this profile".to_owned(),
        since => format!("not timed {}", after(since)),
    };
    match (since_ns, until_ns) {
        (None, None) => None,
        (Some(since), None) => Some(format!("{}, only counted", not_timed(since))),
        (_, Some(0)) => Some("neither timed nor counted".to_owned()),
        (Some(since), Some(until)) if since < until => Some(format!(
            "{}, not counted {}",
            not_timed(since),
            after(until)
        )),
        (_, Some(until)) => Some(format!("not timed or counted {}", after(until))),
    }
}

/// Returns when something happened. 0 stands for all times before the profile's start.
fn after(ns: u64) -> String {
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
