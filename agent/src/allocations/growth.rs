//! Growth of live objects since the first snapshot.

use std::collections::HashMap;

use super::estimate::Estimate;
use super::sample_snapshot::{Leaf, SampleSnapshot};
use super::weak_records::LiveRecord;

/// The maximum number of growing sites for which there are notes.
const MOST_GROWING: usize = 10;

/// The smallest growth that a note mentions, in bytes.
const LEAST_GROWTH: f64 = 5e4;

/// The live objects of the first snapshot, with which later snapshots are compared.
#[derive(Debug)]
pub(super) struct Growth {
    alive: HashMap<Leaf, Estimate>,
    /// The number of collections up to which the first snapshot knew liveness. `alive` has only objects that were made
    /// earlier.
    at: u32,
}

impl Growth {
    /// Remembers the live objects of the first snapshot.
    pub(super) fn of(first: &SampleSnapshot) -> Self {
        let mut alive: HashMap<Leaf, Estimate> = HashMap::new();
        for record in &first.survivors {
            let sum = alive.entry(first.leaf(record)).or_default();
            sum.add(record.estimate);
        }
        Growth {
            alive,
            at: first.judged,
        }
    }

    /// Returns notes on sites whose live bytes have grown since the first snapshot by more than twice the error, those
    /// with the largest growth first.
    pub(super) fn notes(&self, snapshot: &SampleSnapshot) -> Vec<String> {
        let was_alive = |record: &LiveRecord| record.born < self.at;
        let mut now: HashMap<Leaf, [Estimate; 2]> = HashMap::new();
        for record in &snapshot.survivors {
            let sums = now.entry(snapshot.leaf(record)).or_default();
            sums[usize::from(was_alive(record))].add(record.estimate);
        }
        let mut growing: Vec<(f64, f64, Leaf)> = Vec::new();
        for (leaf, [late, early]) in now {
            let before = self.alive.get(&leaf).copied().unwrap_or_default();
            let bytes = late.bytes + early.bytes - before.bytes;
            // Objects that are alive in both snapshots do not contribute to the error.
            let gone = (before.bytes_variance - early.bytes_variance).max(0.0);
            let error = (late.bytes_variance + gone).sqrt();
            if bytes > 2.0 * error && bytes >= LEAST_GROWTH {
                growing.push((bytes, error, leaf));
            }
        }
        growing.sort_by(|a, b| b.0.total_cmp(&a.0));
        growing.truncate(MOST_GROWING);
        let note = |(bytes, error, leaf): (f64, f64, Leaf)| {
            let size = |size: f64| loadhook_text::bytes(size.round() as u64);
            let error = if error > 0.0 {
                format!(" (± {})", size(error))
            } else {
                String::new()
            };
            format!(
                "growing: {}{error} more of {} alive than at the first snapshot",
                size(bytes),
                snapshot.describe(leaf)
            )
        };
        growing.into_iter().map(note).collect()
    }
}
