//! The choices of HPROF's options about its text.

/// The amount of detail in HPROF's text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detail {
    /// Maximum number of frames of a trace.
    pub depth: usize,
    /// Rows with a smaller share of the whole are left out.
    pub cutoff: f64,
    /// True if traces are told apart by thread.
    pub by_thread: bool,
    /// True if frames have their lines, as far as these are known.
    pub lines: bool,
}

impl Default for Detail {
    /// Whole stacks of each thread, with all rows.
    fn default() -> Detail {
        Detail {
            depth: usize::MAX,
            cutoff: 0.0,
            by_thread: true,
            lines: true,
        }
    }
}
