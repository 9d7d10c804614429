//! The thread that keeps the budget of probes.
//!
//! At intervals it reads calls and times by method, and estimates what entry and exit probes have cost since the last
//! look. If that is more than the budget, it takes these probes from short hot methods, which are then only counted
//! (see [`lowering`](crate::instrument::lowering)).

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use loadhook_settings::{Clock, Timing};
use rustix::time::{ClockId, clock_gettime};

use super::choice::Budget;
use crate::diagnostics;
use crate::instrument::exclusions;
use crate::instrument::instrumentation::Instrumentation;
use crate::instrument::lowering;
use crate::jvm::jni::Jni;
use crate::options::Options;
use crate::snapshot::gate::SnapshotGate;
use crate::threads::own::OwnThreads;
use crate::tracker::client::{MethodSum, TrackerClient};

/// Nanoseconds that the probes of a call cost, without clock readings. In whole programs on JDK 17 and 25, 10 to 33
/// were measured. That includes the cost of methods that the JIT compiler no longer inlines. In a tight loop, a call
/// costs less.
const CALL_NS: f64 = 20.0;

/// The wait before the first look. It doubles with each look that changes nothing.
const FIRST: Duration = Duration::from_millis(100);

/// The longest wait between two looks.
const LONGEST: Duration = Duration::from_secs(5);

/// The shortest wait after classes were changed: the JIT compiler then compiles them again. The wait is also at least
/// [`CHANGES_TO_REST`] times as long as the change took.
const AFTER_CHANGE: Duration = Duration::from_millis(200);
const CHANGES_TO_REST: u32 = 20;

/// The parts of the agent that the thread uses.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    pub(crate) instrumentation: &'static Instrumentation,
    pub(crate) own_threads: &'static OwnThreads,
    pub(crate) gate: &'static SnapshotGate,
    pub(crate) tracker: &'static TrackerClient,
}

/// Starts the thread if the options have a budget.
pub(crate) fn start(parts: Parts, jni: Jni<'_>) {
    let options = parts.instrumentation.hook.options();
    let Some(percent) = options.settings.budget_percent() else {
        return;
    };
    let mut keeper = Keeper {
        budget: Budget {
            percent,
            call_ns: CALL_NS,
        },
        parts,
        began: Instant::now(),
        before: HashMap::new(),
        cpu: process_time(),
        settled: HashSet::new(),
    };
    let run = move |jni: Jni<'_>| keeper.run(jni);
    let jvmti = parts.instrumentation.jvmti;
    if !parts.own_threads.start(jvmti, jni, c"loadhook budget", run) {
        diagnostics::once(
            "budget: the thread that keeps it cannot be started; all methods keep their probes",
        );
    }
}

struct Keeper {
    budget: Budget,
    parts: Parts,
    began: Instant,
    /// Calls and times at the last look, by method.
    before: HashMap<u32, MethodSum>,
    /// The processor time of the process at the last look.
    cpu: Duration,
    /// Methods that are not looked at any more: they are only counted, or the JVM refused to change them.
    settled: HashSet<u32>,
}

impl Keeper {
    fn run(&mut self, jni: Jni<'_>) {
        self.budget.call_ns += clock_readings_ns(self.parts.instrumentation.hook.options());
        let mut wait = FIRST;
        while !self.parts.gate.wait_for_end(wait) {
            let Some(pass) = self.parts.gate.enter() else {
                return;
            };
            let chosen = self.look(jni);
            // The pass is dropped first, because the end of the JVM waits for it, and a change of classes may take
            // long: transformers of other agents run.
            drop(pass);
            wait = match chosen {
                Some(chosen) => AFTER_CHANGE.max(self.only_count(jni, chosen) * CHANGES_TO_REST),
                None => LONGEST.min(wait * 2),
            };
        }
    }

    /// Estimates what the probes have cost, and chooses the methods that are to lose them; `None` if there are none.
    fn look(&mut self, jni: Jni<'_>) -> Option<Vec<u32>> {
        let Parts {
            instrumentation,
            tracker,
            ..
        } = self.parts;
        // A change of classes needs heap, too.
        if !tracker.reserve.can_spare_snapshot(jni) {
            return None;
        }
        let sums = tracker.method_sums(jni).ok()?;
        let now = process_time();
        let cpu_ns = now.saturating_sub(self.cpu).as_nanos() as f64;
        self.cpu = now;
        let seen = self.since_the_last_look(sums);
        let hook = &instrumentation.hook;
        let constructors = &hook.levels.constructors;
        let may_lose = |id: u32| {
            let is_settled = self.settled.contains(&id);
            hook.registry.class_of(id).is_some_and(|class| {
                !is_settled
                    && !exclusions::is_called_by_tracker(&class.name)
                    && !(class.is_constructor
                        && (class.is_folded || constructors.are_called(&class.name)))
            })
        };
        let chosen = self.budget.choose(&seen, cpu_ns, may_lose);
        (!chosen.is_empty()).then_some(chosen)
    }

    /// Takes the entry and exit probes from these methods. Returns how long the change took.
    fn only_count(&mut self, jni: Jni<'_>, chosen: Vec<u32>) -> Duration {
        let Parts {
            instrumentation,
            gate,
            ..
        } = self.parts;
        let begin = Instant::now();
        let since = begin.duration_since(self.began);
        lowering::only_count(instrumentation, jni, &chosen, since, || !gate.is_ending());
        self.settled.extend(chosen);
        begin.elapsed()
    }

    fn since_the_last_look(&mut self, sums: Vec<MethodSum>) -> Vec<MethodSum> {
        let since = |now: MethodSum| {
            let before = self.before.insert(now.id, now).unwrap_or_default();
            MethodSum {
                calls: now.calls.saturating_sub(before.calls),
                nanos: now.nanos.saturating_sub(before.nanos),
                ..now
            }
        };
        let seen = sums.into_iter().map(since);
        seen.filter(|method| method.calls > 0).collect()
    }
}

/// The processor time of the process.
fn process_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Nanoseconds that the clock readings of a call take, if each call is timed.
fn clock_readings_ns(options: &Options) -> f64 {
    const READINGS: u32 = 256;
    if options.timing != Some(Timing::Exact) {
        return 0.0;
    }
    let clock = match options.settings.clock {
        Clock::Wall => ClockId::Monotonic,
        Clock::Cpu => ClockId::ThreadCPUTime,
    };
    let begin = Instant::now();
    for _ in 0..READINGS {
        std::hint::black_box(clock_gettime(clock));
    }
    2.0 * begin.elapsed().as_nanos() as f64 / f64::from(READINGS)
}
