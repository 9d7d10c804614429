//! Pauses of the garbage collector.

use serde::{Deserialize, Serialize};

/// The pauses of the garbage collector that have the same cause and the same collector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GcPauses {
    /// The reason for the collection in the JVM's words: `Allocation Failure`, `System.gc()`. Empty if the JVM does not
    /// tell it.
    pub cause: String,
    /// The JVM's name for the collector and its work: `Copy`, `G1 young collection pauses`. Empty if the JVM does not
    /// tell it.
    pub collector: String,
    /// The number of pauses.
    pub pauses: u64,
    /// The time of all pauses, in nanoseconds.
    pub total_ns: u64,
    /// The time of the longest pause, in nanoseconds.
    pub longest_ns: u64,
}

impl GcPauses {
    /// Adds other pauses.
    pub fn add(&mut self, other: &GcPauses) {
        self.pauses = self.pauses.saturating_add(other.pauses);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}
