//! The parts of a table that only profiles of samples have.

use crate::analysis::method_rows::Row;
use crate::analysis::view::View;
use crate::model::{Engine, Sampling};
use loadhook_text::units;
use loadhook_text::width::joined;

/// The waiting column's number among `Spares`: it is dropped last, after
/// shares, means and errors.
pub(super) const WAITING_SPARE: u8 = 1;

/// Returns the lines above the table: the samples, and the time that they stand for.
pub(super) fn head(view: &View<'_>, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(sampling) = &view.profile.sampling {
        lines.push(joined(&facts(sampling), width));
    }
    lines.push(joined(&times(view), width));
    lines
}

/// Returns sentences that say how to read times that are summed over threads.
pub(in crate::format) fn times(view: &View<'_>) -> Vec<String> {
    let entries = view.trees.iter().flat_map(|tree| &tree.entries);
    let waiting: f64 = entries
        .map(|entry| entry.weight.waiting.total_ns() as f64)
        .sum();
    let elapsed = units::time(view.profile.header.watched_ns() as f64);
    let mut times = vec![format!(
        "{} on a processor in {elapsed} elapsed",
        units::time(view.whole)
    )];
    if waiting > 0.0 {
        times.push(format!("plus {} waiting", units::time(waiting)));
    }
    times.push("% is of the processor time".to_owned());
    times
}

/// Returns facts about the samples: their number, the mean processor time between two samples of a
/// thread, and the share of the time whose stacks are incomplete.
pub(in crate::format) fn facts(sampling: &Sampling) -> Vec<String> {
    let samples = units::counted(sampling.samples, "sample", "samples");
    let engine = match sampling.engine {
        Engine::Async => "async engine",
        Engine::Safepoint => "at safepoints, which makes times less exact",
    };
    let mut facts = vec![
        format!(
            "{samples} every {} of processor time",
            units::time(sampling.tick_ns as f64)
        ),
        engine.to_owned(),
    ];
    let unwalked = 100.0 * sampling.unwalked_ns as f64 / (sampling.weight_ns as f64).max(1.0);
    facts.push(format!(
        "{unwalked:.1} % of time with incomplete stacks ([unwalked])"
    ));
    if sampling.tracker_ns > 0 {
        let counting = units::time(sampling.tracker_ns as f64);
        facts.push(format!("{counting} of counting left out"));
    }
    if sampling.lost > 0 {
        facts.push(format!("{} lost", units::count(sampling.lost)));
    }
    facts
}

/// Returns the time for which threads waited; empty if they did not.
pub(in crate::format) fn waiting_text(ns: f64) -> String {
    if ns > 0.0 {
        units::time(ns)
    } else {
        String::new()
    }
}

/// Returns the remark that says where the numbers come from.
pub(super) fn remark(view: &View<'_>, rows: &[Row]) -> Option<String> {
    let has_uncounted = rows.iter().any(|row| row.known_calls().is_none());
    let has_ended = rows.iter().any(|row| row.counted_until_ns.is_some());
    let calls = if view.profile.method_calls.is_empty() {
        "calls are not counted"
    } else if view.method_calls.is_empty() {
        "calls are summed over all threads and callers, so they are not shown here"
    } else if has_uncounted && has_ended {
        "calls are exact but for ≥, – where not counted"
    } else if has_uncounted {
        "calls are exact, – where not counted"
    } else if has_ended {
        "calls are exact but for ≥"
    } else {
        "calls are exact"
    };
    view.is_sampled()
        .then(|| format!("times are processor time by samples; {calls}"))
}
