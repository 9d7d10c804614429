//! Calls that were counted without their callers, and the circumstances of samples.

use serde::{Deserialize, Serialize};

/// All calls of a method, in all threads together, counted by probes that keep no call tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodCalls {
    /// Index into [`Profile::methods`](super::Profile::methods).
    pub method: u32,
    /// Calls, exact.
    pub calls: u64,
}

/// The way in which stacks were taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Where the thread stands, by a signal.
    #[default]
    Async,
    /// At the thread's next safepoint, by JVM TI: shares are biased to code that follows such points.
    Safepoint,
}

/// The circumstances of samples, and their sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sampling {
    /// The way in which stacks were taken.
    pub engine: Engine,
    /// Processor time of a thread between two of its samples that was asked for, in nanoseconds.
    pub interval_ns: u64,
    /// The mean of what was had. The kernel's tick bounds it.
    pub tick_ns: u64,
    /// Elapsed time between two visits of a waiting thread; 0 if waiting was not looked at.
    pub wall_interval_ns: u64,
    /// Samples of running threads.
    pub samples: u64,
    /// Running time that all samples stand for, in nanoseconds.
    pub weight_ns: u64,
    /// The part of `weight_ns` whose stacks could not be walked to their end.
    pub unwalked_ns: u64,
    /// Samples whose stacks could not be walked to their end.
    pub unwalked: u64,
    /// Samples whose outer frames are not on the stack, as those of virtual threads.
    pub cut: u64,
    /// Samples for which there was no room.
    pub lost: u64,
}

/// The time for which threads waited with one method innermost, by the reason, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// For a monitor: to enter it, or in `Object.wait`.
    pub monitor_ns: u64,
    /// Parked, as by locks and queues of `java.util.concurrent`.
    pub parked_ns: u64,
    /// In `Thread.sleep`.
    pub sleeping_ns: u64,
    /// In a native method that waits for input or output.
    pub io_ns: u64,
    /// For anything else.
    pub other_ns: u64,
}

impl Engine {
    /// The word in options and files: `async`, `safepoint`.
    pub fn as_str(self) -> &'static str {
        match self {
            Engine::Async => "async",
            Engine::Safepoint => "safepoint",
        }
    }
}

impl Waiting {
    /// The words for the reasons, in the order of [`Waiting::parts`].
    pub const REASONS: [&str; 5] = ["monitor", "parked", "sleeping", "io", "other"];

    /// The time of each reason.
    pub fn parts(&self) -> [u64; 5] {
        [
            self.monitor_ns,
            self.parked_ns,
            self.sleeping_ns,
            self.io_ns,
            self.other_ns,
        ]
    }

    /// The waiting of so much time by each reason.
    pub fn of_parts([monitor_ns, parked_ns, sleeping_ns, io_ns, other_ns]: [u64; 5]) -> Waiting {
        Waiting {
            monitor_ns,
            parked_ns,
            sleeping_ns,
            io_ns,
            other_ns,
        }
    }

    /// The time of all reasons together.
    pub fn total_ns(&self) -> u64 {
        self.parts().into_iter().fold(0, u64::saturating_add)
    }

    /// Adds other waiting.
    pub fn add(&mut self, other: &Waiting) {
        let mut sums = self.parts();
        for (sum, more) in sums.iter_mut().zip(other.parts()) {
            *sum = sum.saturating_add(more);
        }
        *self = Waiting::of_parts(sums);
    }
}
