//! The thread that keeps the budget.
//!
//! At intervals the thread checks how much processor time Loadhook has taken since the last check: by probes, by
//! samples and by the agent's own threads. If this is more than the budget, the thread removes probes from hot methods
//! (see [`lowering`](crate::instrument::lowering)). If the budget stays exceeded and no more probes can be removed, the
//! agent leaves the program.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use loadhook_profile::snapshot::Decoder;
use loadhook_settings::{Clock, Timing};
use rustix::time::{ClockId, clock_gettime};

use super::choice::{TimedChoice, choose_counted};
use super::cost::{Cost, Times};
use crate::agent::Agent;
use crate::diagnostics;
use crate::instrument::exclusions;
use crate::instrument::lowering;
use crate::jvm::jni::Jni;
use crate::options::Options;
use crate::sampler::VmThreads;
use crate::tracker::client::{MethodSum, TrackerClient};

/// Nanoseconds that the probes of a timed call cost, without clock readings. Measured in whole programs on JDK 17 and
/// 25: 10 to 33, which includes the cost of methods that the JIT compiler no longer inlines. In a tight loop, a call
/// costs less.
const CALL_NS: f64 = 20.0;

/// The wait before the first look at timed calls. The first looks follow each other closely: what a program's probes take
/// while it warms up stays in its times.
const FIRST: Duration = Duration::from_millis(20);

/// The wait before a look is at least this part of the time since the start.
const PART_OF_ELAPSED: u32 = 4;

/// The wait before the first look at counted calls. Their cost is estimated from samples, so enough samples must have
/// been taken.
const FIRST_BY_SAMPLES: Duration = Duration::from_secs(2);

/// The time for which a program whose calls are timed counts as beginning.
const BEGINNING: Duration = Duration::from_secs(2);

/// The longest wait between two looks.
const LONGEST: Duration = Duration::from_secs(5);

/// A wait is also at least this many times as long as the look before took, so that looks take 2 % of a processor at
/// most.
const LOOKS_TO_REST: u32 = 50;

/// The shortest wait after a change of classes, because the JIT compiler then compiles the classes again. The wait is
/// also at least [`CHANGES_TO_REST`] times as long as the change took.
const AFTER_CHANGE: Duration = Duration::from_millis(50);
const CHANGES_TO_REST: u32 = 20;

/// The wait between two looks while the budget is exceeded.
const WHILE_EXCEEDED: Duration = Duration::from_secs(2);

/// If more than this number of looks in a row find the budget exceeded, the agent leaves. A single piece of work, such
/// as a large snapshot, must not make the agent leave.
const MOST_EXCEEDED: u32 = 4;

/// Makes the agent leave. Called in one of the agent's own threads. The agent may be freed afterwards.
type Leave = fn(&'static Agent, Jni<'_>) -> bool;

/// Starts the thread if the options have a budget. The thread may call `leave`.
pub(crate) fn start(
    agent: &'static Agent,
    tracker: &'static TrackerClient,
    jni: Jni<'_>,
    leave: Leave,
) {
    let options = agent.options();
    let Some(percent) = options.settings.budget_percent() else {
        return;
    };
    let mut vm_threads = VmThreads::begin();
    let ordered_ns = agent.budget.ordered_ns();
    let times = Times::now(
        &agent.own_threads,
        agent.sampler.as_ref(),
        &mut vm_threads,
        ordered_ns,
    );
    let mut keeper = Keeper {
        percent,
        call_ns: CALL_NS,
        agent,
        tracker,
        began: Instant::now(),
        before: HashMap::new(),
        times,
        vm_threads,
        settled: HashSet::new(),
        exceeded: 0,
        cost_exceeded: Cost::default(),
    };
    let run = move |jni: Jni<'_>| {
        if keeper.run(jni) {
            leave(agent, jni);
        }
    };
    if !agent
        .own_threads
        .start(agent.jvmti, jni, c"loadhook budget", run)
    {
        diagnostics::once(
            "budget= has no effect: the thread that keeps the budget cannot be started, so all methods keep their probes",
        );
    }
}

struct Keeper {
    /// The limit in percent of the program's own processor time.
    percent: u32,
    /// Nanoseconds that the probes of a timed call take.
    call_ns: f64,
    agent: &'static Agent,
    tracker: &'static TrackerClient,
    began: Instant,
    /// Calls and times at the last look, by method.
    before: HashMap<u32, MethodSum>,
    /// The processor times at the last look.
    times: Times,
    vm_threads: VmThreads,
    /// Methods that are no longer candidates: they have lost their probes, or the JVM refused to change their classes.
    settled: HashSet<u32>,
    /// The number of looks in a row that have found the budget exceeded.
    exceeded: u32,
    /// The sum of the costs that the looks counted by `exceeded` have found.
    cost_exceeded: Cost,
}

/// The result of a look.
enum Look {
    Kept,
    /// These methods are to lose probes.
    Lower(Vec<u32>),
    /// The budget is exceeded, and no method can lose its probes.
    Exceeded(Cost),
}

impl Keeper {
    /// Keeps the budget until the JVM or the agent's work ends. Returns true if the budget cannot be kept, so that the
    /// agent must leave.
    fn run(&mut self, jni: Jni<'_>) -> bool {
        let gate = &self.agent.gate;
        self.call_ns += clock_readings_ns(self.agent.options());
        let mut wait = if self.is_timed() {
            FIRST
        } else {
            FIRST_BY_SAMPLES
        };
        while !gate.wait_for_end(wait) {
            let Some(pass) = gate.enter() else {
                return false;
            };
            let begin = Instant::now();
            let look = self.look(jni);
            let took = begin.elapsed();
            // The pass is dropped first, because the end of the JVM waits for it. A change of classes may take long,
            // because transformers of other agents run.
            drop(pass);
            wait = match look {
                Look::Kept => self.pause(wait, took),
                Look::Lower(chosen) => {
                    let wait = AFTER_CHANGE.max(self.lower(jni, chosen) * CHANGES_TO_REST);
                    // The cost of the change itself is left out: it comes only once.
                    self.times = self.now();
                    wait
                }
                Look::Exceeded(_) if !self.may_leave() || self.is_beginning() => {
                    self.pause(wait, took)
                }
                Look::Exceeded(cost) => {
                    self.exceeded += 1;
                    self.cost_exceeded.add(&cost);
                    if self.exceeded > MOST_EXCEEDED {
                        let since = self.began.elapsed();
                        let log = &self.agent.budget;
                        log.stop(self.percent, since, &self.cost_exceeded);
                        return true;
                    }
                    WHILE_EXCEEDED
                }
            };
        }
        false
    }

    /// Returns the wait after a look that changed nothing. `before` is the wait before this look, and `took` its duration.
    fn pause(&self, before: Duration, took: Duration) -> Duration {
        if self.is_timed() {
            let pause = FIRST.max(self.began.elapsed() / PART_OF_ELAPSED);
            LONGEST.min(pause.max(took * LOOKS_TO_REST))
        } else {
            LONGEST.min(before * 2)
        }
    }

    /// Returns whether calls are timed and the program has just begun. Looks that find the budget exceeded then follow
    /// each other closely, because methods get hot that are to lose their probes, and do not make the agent leave.
    fn is_beginning(&self) -> bool {
        self.is_timed() && self.began.elapsed() < BEGINNING
    }

    fn now(&mut self) -> Times {
        let sampler = self.agent.sampler.as_ref();
        let ordered_ns = self.agent.budget.ordered_ns();
        Times::now(
            &self.agent.own_threads,
            sampler,
            &mut self.vm_threads,
            ordered_ns,
        )
    }

    /// Returns whether calls are timed by probes.
    fn is_timed(&self) -> bool {
        self.agent.options().timing != Some(Timing::Sampled)
    }

    /// Returns whether the agent may leave. It may not if the budget is only the default of a program that was started
    /// under Loadhook: its user has asked for the probes and set no limit.
    fn may_leave(&self) -> bool {
        self.agent.options().settings.budget.is_some()
    }

    /// Compares the processor time that Loadhook has taken since the last look with the budget.
    fn look(&mut self, jni: Jni<'_>) -> Look {
        let now = self.now();
        let mut cost = now.since(&self.times);
        self.times = now;
        if self.agent.pauses.is_paused() || self.agent.budget.has_order_under_way() {
            (self.exceeded, self.cost_exceeded) = (0, Cost::default());
            return Look::Kept;
        }
        // A look needs heap for a snapshot, and a change of classes needs heap, too.
        let has_heap = self.tracker.reserve.can_spare_snapshot(jni);
        let chosen = if self.is_timed() {
            has_heap.then(|| self.look_at_timed(jni, &mut cost))
        } else {
            (has_heap && cost.all() > cost.allowed(self.percent))
                .then(|| self.look_at_counted(jni, &cost))
        };
        let chosen = chosen.unwrap_or_default();
        if !chosen.is_empty() {
            (self.exceeded, self.cost_exceeded) = (0, Cost::default());
            return Look::Lower(chosen);
        }
        if cost.all() > cost.allowed(self.percent) {
            return Look::Exceeded(cost);
        }
        (self.exceeded, self.cost_exceeded) = (0, Cost::default());
        Look::Kept
    }

    /// Sets the cost of entry and exit probes in `cost`, and chooses the methods that are to lose these probes.
    fn look_at_timed(&mut self, jni: Jni<'_>, cost: &mut Cost) -> Vec<u32> {
        let Ok(sums) = self.tracker.method_sums(jni) else {
            return Vec::new();
        };
        let seen = self.since_the_last_look(sums);
        let calls: u64 = seen.iter().map(|method| method.calls).sum();
        cost.probes = calls as f64 * self.call_ns;
        if cost.all() <= cost.allowed(self.percent) {
            return Vec::new();
        }
        let choice = TimedChoice {
            call_ns: self.call_ns,
            allowed_ns: cost.allowed_for_probes(self.percent),
            cpu_ns: cost.process,
            is_warming_up: cost.is_warming_up(),
        };
        let hook = &self.agent.instrumentation.hook;
        let constructors = &hook.levels.constructors;
        choice.choose(&seen, |id| {
            let is_settled = self.settled.contains(&id);
            hook.registry.class_of(id).is_some_and(|class| {
                !is_settled
                    && !exclusions::is_called_by_tracker(&class.name)
                    && !(class.is_constructor
                        && (class.is_folded || constructors.are_called(&class.name)))
            })
        })
    }

    /// Chooses the methods whose calls are to be counted no longer, by the calls since the last look. At the first
    /// look, these are all calls since the start.
    fn look_at_counted(&mut self, jni: Jni<'_>, cost: &Cost) -> Vec<u32> {
        let mut decoder = Decoder::default();
        let mut is_sound = true;
        let fetched = self.tracker.snapshot(jni, |words| {
            is_sound = is_sound && decoder.push(words).is_ok();
            is_sound && !self.agent.gate.is_ending()
        });
        let Ok(snapshot) = decoder.finish() else {
            return Vec::new();
        };
        if fetched.is_err() {
            return Vec::new();
        }
        let counted = snapshot.method_calls.iter().map(|it| MethodSum {
            id: it.method,
            calls: it.calls,
            nanos: 0,
        });
        let seen = self.since_the_last_look(counted.collect());
        let may_lose = |id: u32| {
            let class = self.agent.instrumentation.hook.registry.class_of(id);
            !self.settled.contains(&id)
                && class.is_some_and(|class| !exclusions::is_called_by_tracker(&class.name))
        };
        let free = seen.iter().filter(|method| may_lose(method.id));
        let free: Vec<(u32, u64)> = free.map(|method| (method.id, method.calls)).collect();
        choose_counted(
            &free,
            cost.probes,
            cost.allowed_for_probes(self.percent),
            cost.is_warming_up(),
        )
    }

    /// Removes probes from these methods. Returns the duration of the change.
    fn lower(&mut self, jni: Jni<'_>, chosen: Vec<u32>) -> Duration {
        let begin = Instant::now();
        let since = begin.duration_since(self.began);
        lowering::lower(&self.agent.instrumentation, jni, &chosen, since, || {
            !self.agent.gate.is_ending()
        });
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

/// Returns the nanoseconds that the two clock readings of a call take; 0 unless each call is timed by the clock.
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
