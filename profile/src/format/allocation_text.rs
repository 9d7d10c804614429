//! Sentences about allocations that several formats share.

use loadhook_text::units;

use super::bounds::mark;
use crate::model::{Amount, Seen};

/// Describes which allocations were recorded, and how.
pub(super) fn describe(seen: Seen) -> String {
    match seen {
        Seen::Exact => "every allocation of the instrumented classes".to_owned(),
        Seen::All => "every allocation".to_owned(),
        Seen::Sampled { interval } => {
            format!("estimated: one sample in {}", units::bytes(interval))
        }
    }
}

/// The reason why the bytes of some objects are missing. The number of objects stands before it.
pub(super) const UNSIZED: &str =
    "have unknown sizes: their classes were unloaded, or the heap was full";

/// The explanation of the mark `≥`, which stands before a number of bytes that lacks objects of unknown size. The
/// explanation is shown after [`UNSIZED`].
pub(super) const AT_LEAST: &str = "≥ lower bound: without the bytes of these objects";

/// Returns the lines below a table with percentages, if there are objects of unknown size.
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

/// Formats a [`total`] for the screen. `about` is written before each number, to mark estimates.
pub(super) fn total_text((amount, unsized_objects): (Amount, f64), about: &str) -> String {
    let least = mark(false, unsized_objects > 0.0);
    let bytes = units::bytes(amount.bytes.unwrap_or(0.0).round() as u64);
    let objects = units::decimal(amount.objects, 0);
    format!("{least}{about}{bytes} in {about}{objects} objects")
}
