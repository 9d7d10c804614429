//! The options of HPROF that concern the amount of detail.

/// The amount of detail in HPROF's text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detail {
    /// Maximum number of frames of a trace.
    pub depth: usize,
    /// The smallest share of the whole, from 0 to 1, that a row needs to be written.
    pub cutoff: f64,
    /// True if equal stacks of different threads are different traces.
    pub by_thread: bool,
    /// True if frames have their line numbers, where these are known.
    pub lines: bool,
    /// True if the caller adds a heap dump. Its objects are others than those of `SITES`, so no sums of `SITES` are
    /// written as sums of the heap.
    pub has_heap: bool,
}

impl Default for Detail {
    /// Returns options for whole stacks of each thread, with all rows.
    fn default() -> Detail {
        Detail {
            depth: usize::MAX,
            cutoff: 0.0,
            by_thread: true,
            lines: true,
            has_heap: false,
        }
    }
}
