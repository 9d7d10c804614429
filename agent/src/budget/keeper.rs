//! The thread that keeps the budget.
//!
//! At intervals the thread checks how much processor time Loadhook has taken since the last check: by probes, by
//! samples and by the agent's own threads. If this is more than the budget, the thread removes probes from hot methods
//! (see [`lowering`](crate::instrument::lowering)). Timed methods are counted from then on. If counting costs too much,
//! too, the methods with the most calls lose their last probe; but the default budget of `run` leaves all counts
//! exact. If the budget stays exceeded and no more probes can be removed, the agent leaves the program.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use loadhook_settings::{Clock, Timing};
use rustix::time::{ClockId, clock_gettime};

use super::choice::{FASTER, TimedChoice, choose_counted};
use super::cost::{Cost, Times};
use crate::agent::Agent;
use crate::diagnostics;
use crate::instrument::exclusions;
use crate::instrument::lowering::{self, Lowered};
use crate::jvm::jni::Jni;
use crate::options::Options;
use crate::sampler::VmThreads;
use crate::tracker::client::{MethodSum, TrackerClient};

/// Nanoseconds that the probes of a timed call cost, without clock readings. Whole programs on JDK 17 and 25 showed 10 to
/// 33 if all methods were timed, and 80 for what was left in `javac` when the shortest methods had lost their probes. Both
/// include the cost of methods that the JIT compiler no longer inlines.
const CALL_NS: f64 = 80.0;

/// Nanoseconds that counting a call costs. Whole programs showed 0.4 to 3.
const COUNT_NS: f64 = 2.0;

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

/// The longest wait between two short looks.
const LONGEST: Duration = Duration::from_secs(5);

/// A wait is also at least this many times as long as the look before took, so that looks take 2 % of a processor at
/// most, but no longer than [`LONGEST_REST`]: a look may have waited for a collection.
const LOOKS_TO_REST: u32 = 50;
const LONGEST_REST: Duration = Duration::from_secs(30);

/// The shortest wait after a change of classes, because the JIT compiler then compiles the classes again. The wait is
/// also at least [`CHANGES_TO_REST`] times as long as the change took.
const AFTER_CHANGE: Duration = Duration::from_millis(50);
const CHANGES_TO_REST: u32 = 8;

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
        counted: HashSet::new(),
        silent: HashSet::new(),
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
    /// Timed methods that are no longer candidates: they have lost their timing probes, or the JVM refused to change
    /// their classes.
    counted: HashSet<u32>,
    /// Counted methods that are no longer candidates, for the same reasons.
    silent: HashSet<u32>,
    /// The number of looks in a row that have found the budget exceeded.
    exceeded: u32,
    /// The sum of the costs that the looks counted by `exceeded` have found.
    cost_exceeded: Cost,
}

/// The result of a look.
enum Look {
    Kept,
    /// These methods are to lose probes.
    Lower(Lowered),
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
                Look::Exceeded(_) if !self.is_strict() || self.is_beginning() => {
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
            LONGEST
                .min(pause)
                .max(LONGEST_REST.min(took * LOOKS_TO_REST))
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

    /// Returns whether the budget is to be kept at all costs: counts may end, and the agent may leave. This is not so if
    /// the budget is only the default of a program that was started under Loadhook: its user has asked for the probes
    /// and set no limit.
    fn is_strict(&self) -> bool {
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

    /// Sets the cost of probes in `cost`, and chooses the methods that are to lose probes, for a program whose calls are
    /// timed.
    fn look_at_timed(&mut self, jni: Jni<'_>, cost: &mut Cost) -> Lowered {
        let Ok(sums) = self.tracker.method_sums(jni) else {
            return Lowered::default();
        };
        let seen = self.since_the_last_look(sums);
        let calls: u64 = seen.iter().map(|method| method.calls).sum();
        let only_counted: u64 = seen.iter().map(|method| method.counted).sum();
        let counting_ns = only_counted as f64 * COUNT_NS;
        cost.probes = calls as f64 * self.call_ns + counting_ns;
        if cost.all() <= cost.allowed(self.percent) {
            return Lowered::default();
        }
        let allowed = cost.allowed_for_probes(self.percent);
        let choice = TimedChoice {
            call_ns: self.call_ns,
            allowed_ns: (allowed - counting_ns).max(allowed / 2.0),
            cpu_ns: cost.process,
            is_warming_up: cost.is_warming_up(),
        };
        let mut lowered = Lowered {
            counted: self.choose_timed(&choice, &seen),
            silent: Vec::new(),
        };
        if self.is_strict() {
            self.choose_silent(&mut lowered, &seen, cost, allowed);
        }
        lowered
    }

    /// Chooses the methods whose calls are to be timed no longer.
    fn choose_timed(&self, choice: &TimedChoice, seen: &[MethodSum]) -> Vec<u32> {
        let hook = &self.agent.instrumentation.hook;
        let class_of = |id| hook.registry.class_of(id);
        // Finding these classes takes a walk over all classes, so it is left out if no constructor may be chosen.
        let kept = OnceCell::new();
        let is_kept = |class: &str| {
            let find = || {
                let long = seen.iter().filter(|method| choice.is_long(method));
                let long = long.filter_map(|method| class_of(method.id));
                let long = long.filter(|class| class.is_constructor);
                let long = long.map(|class| class.name).collect();
                hook.levels.constructors.kept(&hook.registry, long)
            };
            kept.get_or_init(find).contains(class)
        };
        let may_lose = |id: u32| {
            !self.counted.contains(&id)
                && class_of(id).is_some_and(|class| {
                    !exclusions::is_called_by_tracker(&class.name)
                        && !(class.is_constructor && (class.is_folded || is_kept(&class.name)))
                })
        };
        let mut chosen = choice.choose(seen, may_lose);
        if choice.is_warming_up && !chosen.is_empty() {
            // The change discards the compiled code of whole classes. Methods of these classes that would be chosen
            // later would make the JVM discard it again.
            let classes: HashSet<Arc<str>> = chosen
                .iter()
                .filter_map(|id| Some(class_of(*id)?.name))
                .collect();
            let known: HashSet<u32> = chosen.iter().copied().collect();
            let others = seen.iter().filter(|method| {
                !known.contains(&method.id)
                    && choice.gets_short(method)
                    && class_of(method.id).is_some_and(|class| classes.contains(&class.name))
                    && may_lose(method.id)
            });
            chosen.extend(others.map(|method| method.id));
        }
        chosen
    }

    /// Chooses the methods whose calls are to be counted no longer, although their calls are timed or were timed. The
    /// probes may take `allowed_ns`.
    fn choose_silent(
        &self,
        lowered: &mut Lowered,
        seen: &[MethodSum],
        cost: &Cost,
        allowed_ns: f64,
    ) {
        let newly: HashSet<u32> = lowered.counted.iter().copied().collect();
        let mut timed_ns = 0.0;
        let mut counted = Vec::new();
        for method in seen {
            if newly.contains(&method.id) {
                counted.push((method.id, method.counted + method.calls));
            } else {
                timed_ns += method.calls as f64 * self.call_ns;
                counted.push((method.id, method.counted));
            }
        }
        let free = self.that_may_lose_counts(counted);
        let calls: u64 = free.iter().map(|(_, calls)| calls).sum();
        let counting_ns = calls as f64 * COUNT_NS;
        let allowed_ns = (allowed_ns - timed_ns).max(allowed_ns / 2.0);
        // While the program warms up, the part of counting grows as its own code becomes faster. If a change comes anyway,
        // a later one would make the JIT compiler begin anew.
        let is_early = cost.is_warming_up() && !lowered.counted.is_empty();
        let growth = if is_early { FASTER } else { 1.0 };
        if counting_ns * growth > allowed_ns {
            lowered.silent = choose_counted(&free, counting_ns, allowed_ns, cost.is_warming_up());
            let silent: HashSet<u32> = lowered.silent.iter().copied().collect();
            lowered.counted.retain(|id| !silent.contains(id));
        }
    }

    /// Chooses the methods whose calls are to be counted no longer, by the calls since the last look, for a program
    /// whose calls are only counted. At the first look, these are all calls since the start.
    fn look_at_counted(&mut self, jni: Jni<'_>, cost: &Cost) -> Lowered {
        let Ok(sums) = self.tracker.method_sums(jni) else {
            return Lowered::default();
        };
        let seen = self.since_the_last_look(sums);
        let counted = seen.iter().map(|method| (method.id, method.counted));
        let free = self.that_may_lose_counts(counted.collect());
        let allowed = cost.allowed_for_probes(self.percent);
        Lowered {
            counted: Vec::new(),
            silent: choose_counted(&free, cost.probes, allowed, cost.is_warming_up()),
        }
    }

    /// Keeps the methods that have counted calls and may lose the probe that counts them. A pair has the id of a method
    /// and the number of its counted calls.
    fn that_may_lose_counts(&self, mut counted: Vec<(u32, u64)>) -> Vec<(u32, u64)> {
        let registry = &self.agent.instrumentation.hook.registry;
        counted.retain(|(id, calls)| {
            *calls > 0
                && !self.silent.contains(id)
                && registry
                    .class_of(*id)
                    .is_some_and(|class| !exclusions::is_called_by_tracker(&class.name))
        });
        counted
    }

    /// Removes probes from these methods. Returns the duration of the change.
    fn lower(&mut self, jni: Jni<'_>, chosen: Lowered) -> Duration {
        let begin = Instant::now();
        let since = begin.duration_since(self.began);
        self.counted.extend(&chosen.counted);
        self.counted.extend(&chosen.silent);
        self.silent.extend(&chosen.silent);
        lowering::lower(&self.agent.instrumentation, jni, chosen, since, || {
            !self.agent.gate.is_ending()
        });
        begin.elapsed()
    }

    fn since_the_last_look(&mut self, sums: Vec<MethodSum>) -> Vec<MethodSum> {
        let since = |now: MethodSum| {
            let before = self.before.insert(now.id, now).unwrap_or_default();
            MethodSum {
                id: now.id,
                calls: now.calls.saturating_sub(before.calls),
                nanos: now.nanos.saturating_sub(before.nanos),
                counted: now.counted.saturating_sub(before.counted),
            }
        };
        let seen = sums.into_iter().map(since);
        seen.filter(|method| method.calls + method.counted > 0)
            .collect()
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
