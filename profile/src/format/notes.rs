//! The notes of a profile, and the way in which it was measured, in formats for people.

use crate::model::{Header, Timing};

/// The maximum number of notes that are shown without `--explain`.
pub(super) const FEW_NOTES: usize = 10;

/// The way in which calls were counted and timed: `wall clock, exact timing`.
pub(super) fn measured(header: &Header) -> String {
    match header.timing {
        Timing::Count => "calls counted, not timed".to_owned(),
        Timing::Sampled => "times from samples".to_owned(),
        timing => format!(
            "{} clock, {} timing",
            header.clock.as_str(),
            timing.as_str()
        ),
    }
}
