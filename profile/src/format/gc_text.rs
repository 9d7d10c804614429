//! Sentences and words about pauses of the garbage collector.

use loadhook_text::units;

use crate::analysis::gc_pauses::sum;
use crate::model::{GcPauses, Profile};

/// Returns the sentences with number, time and share of all pauses; `None` if they were not
/// recorded.
pub(super) fn facts(profile: &Profile) -> Option<Vec<String>> {
    let pauses = profile.gc_pauses.as_ref()?;
    let all = sum(pauses);
    if all.pauses == 0 {
        return Some(vec!["no pauses of the garbage collector".to_owned()]);
    }
    let elapsed_ns = profile.header.watched_ns();
    Some(vec![
        format!(
            "{} of the garbage collector",
            units::counted(all.pauses, "pause", "pauses")
        ),
        format!(
            "{} together, {} of {} elapsed",
            units::time(all.total_ns as f64),
            share(all.total_ns, elapsed_ns),
            units::time(elapsed_ns as f64)
        ),
        format!("the longest {}", units::time(all.longest_ns as f64)),
    ])
}

/// Returns the share of the elapsed time, in percent.
pub(super) fn share(ns: u64, elapsed_ns: u64) -> String {
    format!("{:.2} %", 100.0 * ns as f64 / (elapsed_ns as f64).max(1.0))
}

/// Returns the cause in the JVM's words; a replacement if the JVM gave none.
pub(super) fn cause(pauses: &GcPauses) -> &str {
    if pauses.cause.is_empty() {
        "(unknown)"
    } else {
        &pauses.cause
    }
}
