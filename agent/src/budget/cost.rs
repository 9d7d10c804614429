//! The processor time that Loadhook takes, and the processor time of the program.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::sampler::{Sampler, VmThreads};
use crate::threads::own::OwnThreads;

/// At least this part of the process's processor time counts as the program's own, however much Loadhook seems to have
/// taken.
const LEAST_OWN: f64 = 0.1;

/// The part of one processor that Loadhook may always take. Otherwise an idle program would have no budget for the
/// sampler that watches it.
const LEAST_ALLOWED: f64 = 0.01;

/// Counting calls costs this many times the time that samples show for it. The samples miss two parts of the cost: half
/// of the samples in inlined probes, and the time lost because the JIT compiler inlines less around probes.
const COUNTING: u64 = 2;

/// A program is warming up while its JIT compiler takes more than this part of the program's processor time.
const WARMING_UP: f64 = 0.1;

/// Sums of processor time from the start to a moment, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    at: Instant,
    /// The processor time of the process without that of the JIT compiler's threads. These threads take much time while
    /// a program warms up, which would make the budget too large.
    process: u64,
    /// The time of the JIT compiler's threads.
    compiler: u64,
    /// The time of the agent's own threads, which read samples, look at threads, take snapshots and change classes.
    threads: u64,
    /// The time for taking samples, in the threads of the program.
    samples: u64,
    /// The time for counting calls, estimated from samples.
    counting: u64,
}

impl Times {
    /// Returns the sums up to now. The time `ordered_ns` is left out: the agent's threads have spent it for orders.
    pub(super) fn now(
        own_threads: &OwnThreads,
        sampler: Option<&Sampler>,
        vm_threads: &mut VmThreads,
        ordered_ns: u64,
    ) -> Times {
        let compiler = vm_threads.compiler_ns();
        Times {
            at: Instant::now(),
            process: nanos(clock_time(ClockId::ProcessCPUTime))
                .saturating_sub(compiler)
                .saturating_sub(ordered_ns),
            compiler,
            threads: nanos(own_threads.cpu_time()).saturating_sub(ordered_ns),
            samples: sampler.map_or(0, Sampler::spent_ns),
            counting: COUNTING * sampler.map_or(0, Sampler::counting_ns),
        }
    }

    /// Returns the differences between these sums and the sums `before`, of an earlier moment.
    pub(super) fn since(&self, before: &Times) -> Cost {
        let part = |now: u64, before: u64| now.saturating_sub(before) as f64;
        Cost {
            elapsed: self.at.duration_since(before.at).as_nanos() as f64,
            process: part(self.process, before.process),
            compiler: part(self.compiler, before.compiler),
            threads: part(self.threads, before.threads),
            samples: part(self.samples, before.samples),
            probes: part(self.counting, before.counting),
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the processor time of the calling thread.
pub(super) fn thread_time() -> Duration {
    clock_time(ClockId::ThreadCPUTime)
}

fn clock_time(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Processor times in an interval, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    pub(super) elapsed: f64,
    /// The processor time of the process without the JIT compiler's threads.
    pub(super) process: f64,
    /// The processor time of the JIT compiler's threads.
    pub(super) compiler: f64,
    pub(super) threads: f64,
    pub(super) samples: f64,
    pub(super) probes: f64,
}

impl Cost {
    /// Returns the processor time that Loadhook has taken.
    pub(super) fn all(&self) -> f64 {
        self.threads + self.samples + self.probes
    }

    /// Returns the processor time of the program itself.
    pub(super) fn own(&self) -> f64 {
        (self.process - self.all()).max(self.process * LEAST_OWN)
    }

    /// Returns the processor time that Loadhook may take.
    pub(super) fn allowed(&self, percent: u32) -> f64 {
        (self.own() * f64::from(percent) / 100.0).max(self.elapsed * LEAST_ALLOWED)
    }

    /// Returns the processor time that probes may take: the budget without the time of Loadhook's threads and samples,
    /// but at least half of the budget. Without this minimum, one large snapshot would cost all methods their probes.
    pub(super) fn allowed_for_probes(&self, percent: u32) -> f64 {
        let allowed = self.allowed(percent);
        (allowed - self.threads - self.samples).max(allowed / 2.0)
    }

    /// Returns whether the program is warming up: the JIT compiler takes a considerable part of the processor time.
    pub(super) fn is_warming_up(&self) -> bool {
        self.compiler > self.process * WARMING_UP
    }

    /// Adds the times of a later interval.
    pub(super) fn add(&mut self, later: &Cost) {
        self.elapsed += later.elapsed;
        self.process += later.process;
        self.compiler += later.compiler;
        self.threads += later.threads;
        self.samples += later.samples;
        self.probes += later.probes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COST: Cost = Cost {
        elapsed: 1000.0,
        process: 1000.0,
        compiler: 0.0,
        threads: 20.0,
        samples: 30.0,
        probes: 150.0,
    };

    #[test]
    fn a_part_of_the_programs_own_time_is_allowed() {
        assert_eq!(COST.own(), 800.0);
        assert_eq!(COST.allowed(10), 80.0);
        assert_eq!(COST.allowed_for_probes(10), 40.0);
        assert_eq!(COST.allowed_for_probes(20), 110.0);
        let most = Cost {
            probes: 5000.0,
            ..COST
        };
        assert_eq!(most.own(), 100.0);
    }

    #[test]
    fn an_idle_program_has_a_little_room() {
        let idle = Cost {
            process: 6.0,
            threads: 5.0,
            samples: 0.0,
            probes: 0.0,
            ..COST
        };
        assert!(idle.all() <= idle.allowed(10), "{idle:?}");
    }
}
