//! Calls that were counted without their callers, and the circumstances of samples.

use serde::{Deserialize, Serialize};

/// Calls of a method in all threads, counted by probes without a call tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MethodCalls {
    /// Index into [`Profile::methods`](super::Profile::methods).
    pub method: u32,
    /// The exact number of calls until [`until_ns`](Self::until_ns).
    pub calls: u64,
    /// The time since the start, in nanoseconds, at which the method lost its timing probes. Calls before that time are
    /// in the trees, too; the time of later calls is in the self time of their callers. `None` for a method whose
    /// calls are all timed, and in modes that time no call. 0 if no call of the profile is timed, because the method lost its timing probes before, or got none:
    /// a constructor gets none if those of the superclass have been taken out.
    pub since_ns: Option<u64>,
    /// The time since the start, in nanoseconds, at which the method lost its last probe. Later calls are counted
    /// nowhere. `None` if all calls are counted.
    pub until_ns: Option<u64>,
}

/// The way in which stacks were sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// By a signal, at any instruction.
    #[default]
    Async,
    /// By JVM TI, at the thread's next safepoint. Shares are biased towards code near safepoints.
    Safepoint,
}

/// The circumstances of samples, and their sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sampling {
    /// The way in which stacks were taken.
    pub engine: Engine,
    /// The requested processor time between two samples of a thread, in nanoseconds.
    pub interval_ns: u64,
    /// The mean processor time between two samples of a thread, in nanoseconds. The kernel's tick
    /// is its lower bound.
    pub tick_ns: u64,
    /// Elapsed time between two samples of a waiting thread, in nanoseconds; 0 if waiting threads
    /// were not sampled.
    pub wall_interval_ns: u64,
    /// The number of samples of running threads.
    pub samples: u64,
    /// The running time that all samples stand for, in nanoseconds.
    pub weight_ns: u64,
    /// The part of `weight_ns` that the profiler's own code took in threads of the program, mostly
    /// counting probes. No tree contains it.
    pub tracker_ns: u64,
    /// The number of samples that are in no tree, because they are in the profiler's own code. A
    /// sample in an inlined probe is in the tree with a part of its weight.
    pub tracker: u64,
    /// The part of `weight_ns` whose stacks could not be walked to their end.
    pub unwalked_ns: u64,
    /// The number of samples whose stacks could not be walked to their end.
    pub unwalked: u64,
    /// The number of samples whose outer frames are not on the stack, for example those of virtual
    /// threads.
    pub cut: u64,
    /// The number of samples that were lost because there was no room to record them.
    pub lost: u64,
    /// The number of stacks that the self-check compared with those that JVM TI returned. The check compares stacks of
    /// threads that prepare a class, not of samples.
    pub compared: u64,
    /// The number of these stacks that were equal.
    pub equal: u64,
}

/// The time for which threads waited with one method innermost, by the reason, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Time of waiting for a monitor: to enter it, or in `Object.wait`.
    pub monitor_ns: u64,
    /// Time of parking, for example in locks and queues of `java.util.concurrent`.
    pub parked_ns: u64,
    /// Time in `Thread.sleep`.
    pub sleeping_ns: u64,
    /// Time in native methods that wait for input or output.
    pub io_ns: u64,
    /// Time of waiting for anything else.
    pub other_ns: u64,
}

impl Engine {
    /// Returns the name in options and files: `async`, `safepoint`.
    pub fn as_str(self) -> &'static str {
        match self {
            Engine::Async => "async",
            Engine::Safepoint => "safepoint",
        }
    }
}

impl Waiting {
    /// The names of the reasons, in the order of [`Waiting::parts`].
    pub const REASONS: [&str; 5] = ["monitor", "parked", "sleeping", "io", "other"];

    /// Returns the time of each reason.
    pub fn parts(&self) -> [u64; 5] {
        [
            self.monitor_ns,
            self.parked_ns,
            self.sleeping_ns,
            self.io_ns,
            self.other_ns,
        ]
    }

    /// Makes a value from the time of each reason, in the order of [`Waiting::REASONS`].
    pub fn of_parts([monitor_ns, parked_ns, sleeping_ns, io_ns, other_ns]: [u64; 5]) -> Waiting {
        Waiting {
            monitor_ns,
            parked_ns,
            sleeping_ns,
            io_ns,
            other_ns,
        }
    }

    /// Returns the time of all reasons together.
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
