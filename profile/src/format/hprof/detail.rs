//! The choices of HPROF's options about its text.

/// The detail of HPROF's text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detail {
    /// Maximum number of frames of a trace.
    pub depth: usize,
    /// Rows with a smaller share of the whole are left out.
    pub cutoff: f64,
    /// Traces of different threads are different traces.
    pub by_thread: bool,
    /// Frames have their lines, where they are known.
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
