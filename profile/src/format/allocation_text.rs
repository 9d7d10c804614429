//! Sentences about allocations that several formats have.

use loadhook_text::units;

use super::bounds::mark;
use crate::model::{Amount, Seen};

/// Which allocations were seen.
pub(super) fn describe(seen: Seen) -> String {
    match seen {
        Seen::Exact => "every allocation of the instrumented classes".to_owned(),
        Seen::All => "every allocation".to_owned(),
        Seen::Sampled { interval } => {
            format!("estimated: one sample in {}", units::bytes(interval))
        }
    }
}

/// Why bytes of some objects are missing.
pub(super) const UNSIZED: &str =
    "have unknown sizes: their classes were unloaded, or the heap was full";

/// What the mark of such bytes says, below [`UNSIZED`].
pub(super) const AT_LEAST: &str = "≥ lower bound: without the bytes of these";

/// What is said below a table with shares, where there are objects of unknown size.
pub(super) fn unsized_remarks(objects: f64) -> Vec<String> {
    if objects == 0.0 {
        return Vec::new();
    }
    let objects = units::decimal(objects, 0);
    vec![
        format!("{objects} objects {UNSIZED}"),
        format!("{AT_LEAST}; % is of the known bytes"),
    ]
}

/// A [`total`] on screen; `about` marks estimates.
pub(super) fn total_text((amount, unsized_objects): (Amount, f64), about: &str) -> String {
    let least = mark(false, unsized_objects > 0.0);
    let bytes = units::bytes(amount.bytes.unwrap_or(0.0).round() as u64);
    let objects = units::decimal(amount.objects, 0);
    format!("{least}{about}{bytes} in {about}{objects} objects")
}
