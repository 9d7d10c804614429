//! The settings of the sampler, and its fixed intervals.

use std::time::Duration;

use loadhook_settings::Sampler as EngineChoice;

use crate::jvm::sampling::ClockSource;

/// The settings of the sampler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SamplerSettings {
    /// The requested engine.
    pub(crate) engine: EngineChoice,
    /// The processor time between two samples of a thread.
    pub(crate) interval: Duration,
    pub(crate) clock_source: ClockSource,
    /// True if waiting time is measured.
    pub(crate) waiting: bool,
    /// True if the methods that the JIT compiler compiles and inlines are recorded.
    pub(crate) jit: bool,
    /// True if stacks have lines, for HPROF's traces.
    pub(crate) lines: bool,
    /// Maximum number of the tree's nodes, and maximum number of costs. A cost is a pair of a thread and a node at
    /// which the thread has times.
    pub(crate) max_nodes: usize,
}

/// Time between two visits to a thread. It is longer if there are too many threads.
pub(super) const VISIT_INTERVAL: Duration = Duration::from_millis(10);

/// The shortest time between two samples of a thread at safepoints. It is limited because each such sample stops the
/// thread.
pub(super) const SAFEPOINT_INTERVAL: Duration = Duration::from_millis(20);

/// Time between two readings of the samples that signals have taken.
pub(super) const DRAIN_INTERVAL: Duration = Duration::from_millis(100);

/// Time between two updates of the names of threads and of the times of the JVM's own threads.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The part of each [`VISIT_INTERVAL`] that visits may take: 1 % of a processor.
pub(super) const VISIT_BUDGET: Duration = Duration::from_micros(100);

impl SamplerSettings {
    /// Returns the shortest time between two samples of a thread at safepoints.
    pub(super) fn safepoint_interval(&self) -> Duration {
        self.interval.max(SAFEPOINT_INTERVAL)
    }
}
