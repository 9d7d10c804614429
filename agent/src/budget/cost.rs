//! The processor time that Loadhook takes, beside that of the program.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::sampler::{Sampler, VmThreads};
use crate::threads::own::OwnThreads;

/// The smallest part of the processor time that counts as the program's own, however much Loadhook seems to have taken.
const LEAST_OWN: f64 = 0.1;

/// The part of one processor that Loadhook may take in any case. Otherwise a program that does nothing would have no
/// room for a sampler that looks after it.
const LEAST_ALLOWED: f64 = 0.01;

/// The factor by which counting calls costs more than the time that the samples show for it. That
/// time contains only half of the samples in inlined probes, and it does not show that the JIT
/// compiler inlines less around the probes.
const COUNTING: u64 = 2;

/// Sums of processor time in nanoseconds since the start, at a moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    at: Instant,
    /// The processor time of the process without the JIT compiler's threads. They have much to do while a program warms
    /// up, which would make the budget large.
    process: u64,
    /// The agent's own threads: reading samples, looking at threads, snapshots, changes of classes.
    threads: u64,
    /// Taking samples, in the threads of the program.
    samples: u64,
    /// Counting calls, estimated from samples.
    counting: u64,
}

impl Times {
    /// Returns the sums up to now.
    pub(super) fn now(
        own_threads: &OwnThreads,
        sampler: Option<&Sampler>,
        vm_threads: &mut VmThreads,
    ) -> Times {
        Times {
            at: Instant::now(),
            process: nanos(process_time()).saturating_sub(vm_threads.compiler_ns()),
            threads: nanos(own_threads.cpu_time()),
            samples: sampler.map_or(0, Sampler::spent_ns),
            counting: COUNTING * sampler.map_or(0, Sampler::counting_ns),
        }
    }

    /// The times since an earlier moment.
    pub(super) fn since(&self, before: &Times) -> Cost {
        let part = |now: u64, before: u64| now.saturating_sub(before) as f64;
        Cost {
            elapsed: self.at.duration_since(before.at).as_nanos() as f64,
            process: part(self.process, before.process),
            threads: part(self.threads, before.threads),
            samples: part(self.samples, before.samples),
            probes: part(self.counting, before.counting),
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The processor time of the process.
fn process_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Times in an interval, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    pub(super) elapsed: f64,
    /// The processor time of the process without the JIT compiler's threads.
    pub(super) process: f64,
    pub(super) threads: f64,
    pub(super) samples: f64,
    pub(super) probes: f64,
}

impl Cost {
    /// The processor time that Loadhook has taken.
    pub(super) fn all(&self) -> f64 {
        self.threads + self.samples + self.probes
    }

    /// The processor time of the program itself.
    pub(super) fn own(&self) -> f64 {
        (self.process - self.all()).max(self.process * LEAST_OWN)
    }

    /// The processor time that Loadhook may take.
    pub(super) fn allowed(&self, percent: u32) -> f64 {
        (self.own() * f64::from(percent) / 100.0).max(self.elapsed * LEAST_ALLOWED)
    }

    /// The processor time that probes may take beside the rest, at least half of the budget. Otherwise one large snapshot
    /// would take the probes from all methods.
    pub(super) fn allowed_for_probes(&self, percent: u32) -> f64 {
        let allowed = self.allowed(percent);
        (allowed - self.threads - self.samples).max(allowed / 2.0)
    }

    /// Adds the times of a later interval.
    pub(super) fn add(&mut self, later: &Cost) {
        self.elapsed += later.elapsed;
        self.process += later.process;
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
