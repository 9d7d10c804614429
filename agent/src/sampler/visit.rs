//! The state that a visit to a thread leaves for the next visit.

use std::time::Instant;

use super::owner::Reason;
use crate::jvm::sys::Int;

/// The outcome of a visit to a thread.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    pub(super) at: Instant,
    pub(super) cpu_ns: u64,
    /// Time in which the thread did not run, and that is not booked yet, in nanoseconds.
    pub(super) pending_ns: u64,
    /// The thread's whole time in the run queue when it was last read, in nanoseconds; `None` if it is not known.
    pub(super) delay_ns: Option<u64>,
    /// The place where the thread was found waiting; `None` if the last visit found it running.
    pub(super) found: Option<Found>,
}

/// A place where a thread waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) state: Int,
    pub(super) reason: Reason,
    /// Index of a node in the tree; `None` for a thread without Java frames, whose waiting is not counted.
    pub(super) node: Option<u32>,
}

impl Visit {
    /// Makes the state before the first visit.
    pub(super) fn first(at: Instant, cpu_ns: u64, delay_ns: Option<u64>) -> Self {
        Visit {
            at,
            cpu_ns,
            pending_ns: 0,
            delay_ns,
            found: None,
        }
    }

    /// Returns the thread's state, for which `ask` asks the JVM. A thread that was found waiting and has not run since
    /// then still waits at the same place. So the JVM is not asked, which would take as long as the rest of a visit. A
    /// thread that was notified meanwhile has another state, but waits for the same monitor.
    pub(super) fn state(&self, cpu_ns: u64, ask: impl FnOnce() -> Int) -> Int {
        match self.found {
            Some(found) if cpu_ns == self.cpu_ns => found.state,
            _ => ask(),
        }
    }

    /// Adds the time since the last visit. Returns whether the thread has run meanwhile.
    pub(super) fn advance(&mut self, now: Instant, cpu_ns: u64) -> bool {
        let elapsed = now.saturating_duration_since(self.at);
        let elapsed = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        let ran = cpu_ns.saturating_sub(self.cpu_ns);
        self.pending_ns = self.pending_ns.saturating_add(elapsed.saturating_sub(ran));
        self.at = now;
        self.cpu_ns = cpu_ns;
        ran > 0
    }
}
