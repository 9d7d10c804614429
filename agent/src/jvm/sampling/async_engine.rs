//! The interface of the signal-based sampler to the rest of the agent.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::class_methods;
use super::code_cache::CodeCache;
use super::drain;
use super::engine::{Engine, own_tid};
use super::events;
use super::handler;
use super::memory::SafeMemory;
use super::sample::{
    ClockSource, NotAsync, SampleSink, SampledThread, SamplingCounts, SamplingSettings,
    ThreadNumber, Trust,
};
use super::shared::Shared;
use super::signals;
use super::timers::Timer;
use super::vm_structs::VmStructs;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::Local;
use crate::jvm::sys::{Capabilities, capability, event};
use crate::jvm::visits::Withdrawn;
use crate::jvm::vm::new_environment;

/// The longest wait until callbacks and signal handlers have ended. Normally they end within microseconds.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Samples stacks by signals. A process has at most one engine at a time.
#[derive(Clone, Copy)]
pub(crate) struct AsyncEngine(&'static Engine);

impl AsyncEngine {
    /// Makes the engine and enables its events, in `Agent_OnLoad` or when the agent is attached.
    pub(crate) fn load(settings: SamplingSettings) -> Result<AsyncEngine, NotAsync> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Err(NotAsync::Platform);
        }
        let structs = VmStructs::read()?;
        let memory = SafeMemory::open().ok_or(NotAsync::NoSafeReads)?;
        let probe = Timer::new(
            settings.clock_source,
            own_tid(),
            0,
            signals::any(settings.clock_source),
            settings.interval,
        );
        probe.map_err(|error| match settings.clock_source {
            ClockSource::Timer => NotAsync::NoTimer(error),
            ClockSource::Perf => NotAsync::NoPerf(error),
        })?;
        let jvmti = new_environment().ok_or(NotAsync::NoEnvironment)?;
        let interval_ns = u64::try_from(settings.interval.as_nanos()).unwrap_or(u64::MAX);
        let shared = Shared::new(structs, interval_ns);
        let Some(shared) = handler::set_tables(shared) else {
            jvmti.dispose();
            return Err(NotAsync::NoEnvironment);
        };
        let cache = CodeCache::new(memory, structs.code);
        let engine = Engine::new(jvmti, settings, shared, cache);
        let Some(engine) = events::set_engine(engine) else {
            // The callbacks already have the engine of another agent. Only the tables are withdrawn, because they
            // belong to this agent.
            let tables = handler::withdraw_tables(LONGEST_WAIT);
            jvmti.dispose();
            if let Some(tables) = tables {
                tables.free();
            }
            return Err(NotAsync::NoEnvironment);
        };
        let enabled = Self::enable(jvmti).map(|()| AsyncEngine(engine));
        // After an error, the engine is withdrawn, so that the next agent in this JVM can set its own.
        enabled.inspect_err(|_| {
            let withdrawn = withdraw();
            jvmti.dispose();
            free(withdrawn);
        })
    }

    /// Adds the capabilities, sets the callbacks, and enables the events.
    fn enable(jvmti: Jvmti) -> Result<(), NotAsync> {
        let enable = || {
            jvmti.add_capabilities(Capabilities::of(&[
                capability::CAN_GENERATE_COMPILED_METHOD_LOAD_EVENTS,
            ]))?;
            jvmti.set_callbacks(&events::callbacks())?;
            // If these events are enabled before any code is compiled, HotSpot keeps the inlined methods of all
            // instructions, not only of safepoints.
            events::EVENTS
                .iter()
                .try_for_each(|event| jvmti.notify(*event, true))
        };
        enable().map_err(NotAsync::NoEvents)
    }

    /// Lists the classes and notes the generated code that exist at `VMInit`, and installs the signal handler. From
    /// then on, [`thread_started`](Self::thread_started) can start to sample threads. `is_late` is true if the agent was
    /// attached to a running program.
    pub(crate) fn begin(self, jni: Jni<'_>, is_late: bool) -> Result<(), NotAsync> {
        let AsyncEngine(engine) = self;
        engine.find_thread_field(jni)?;
        engine.is_late.store(is_late, Ordering::Relaxed);
        if is_late {
            // The interpreter and the stubs were made before the events were enabled, so the JVM must report them now.
            class_methods::generate_events(engine.jvmti, event::DYNAMIC_CODE_GENERATED);
        }
        engine.begin_to_enter_stubs();
        engine.list_loaded_classes(jni);
        engine.note_continuation(jni);
        // The JVM compiled some methods before the events were enabled, so it must report these methods now.
        engine.is_replaying.store(is_late, Ordering::Relaxed);
        class_methods::generate_events(engine.jvmti, event::COMPILED_METHOD_LOAD);
        engine.is_replaying.store(false, Ordering::Relaxed);
        if engine.shared.code.get().is_none() {
            return Err(NotAsync::NoStructure("code cache"));
        }
        if !engine.signal.install() {
            return Err(NotAsync::NoSignal);
        }
        Ok(())
    }

    /// Notes the loaded classes. In a running program, this must be called before classes are changed: a method under
    /// way then keeps its old code, whose address the JVM does not report afterwards.
    pub(crate) fn note_loaded(self, jni: Jni<'_>) {
        self.0.is_late.store(true, Ordering::Relaxed);
        self.0.list_loaded_classes(jni);
        self.0.note_continuation(jni);
        self.0.note_listed(jni);
    }

    /// Notes a class that is about to be redefined. Frames of its old code may stay on stacks.
    pub(crate) fn note_before_redefinition(self, jni: Jni<'_>, class: Local<'_>) {
        self.0.note_before_redefinition(jni, class);
    }

    /// Starts to sample a platform thread: the calling thread at `ThreadStart`, another thread at
    /// `VMInit`. `None` if the thread cannot be sampled.
    pub(crate) fn thread_started(self, jni: Jni<'_>, thread: Local<'_>) -> Option<SampledThread> {
        self.0.arm(jni, thread)
    }

    /// Stops sampling the calling thread, at `ThreadEnd`. The next [`drain`](Self::drain) may still pass on samples of
    /// the thread.
    pub(crate) fn thread_ended(self) -> Option<ThreadNumber> {
        self.0.threads().end(self.0.shared, own_tid())
    }

    /// Stops all timers, at `VMDeath`.
    pub(crate) fn stop(self) {
        self.0.threads().stop(self.0.shared);
    }

    /// Stops all timers until [`resume`](Self::resume) is called.
    pub(crate) fn pause(self) {
        self.0.threads().pause(self.0.shared);
    }

    /// Makes the timers of all sampled threads again, after [`pause`](Self::pause).
    pub(crate) fn resume(self) {
        let AsyncEngine(engine) = self;
        // The signal is read under the lock with which `keep_signal` changes it.
        let mut threads = engine.threads();
        threads.resume(engine.shared, &engine.settings, engine.signal.number());
    }

    /// Stops all timers and events for ever. Without a reader of samples, the tables would only grow.
    pub(crate) fn give_up(self, jni: Jni<'_>) {
        self.stop();
        self.0.forget_listed(jni);
        self.disable_events();
    }

    /// Disables the engine's events.
    pub(crate) fn disable_events(self) {
        for event in events::EVENTS {
            // An event that cannot be disabled costs memory, but does no other harm.
            let _ = self.0.jvmti.notify(event, false);
        }
    }

    /// Frees the engine. Called when only callbacks may still use the engine. If a callback does not end in time, the
    /// memory is not freed.
    pub(crate) fn leave(self, jni: Jni<'_>) {
        let AsyncEngine(engine) = self;
        self.give_up(jni);
        {
            // Timers are made, and given another signal, only under this lock. So no timer gets the present signal
            // while the signal's handler is removed.
            let _threads = engine.threads();
            engine.signal.uninstall();
        }
        let withdrawn = withdraw();
        let classes = engine.known().methods.take_references();
        for class in classes {
            jni.delete_weak(class);
        }
        engine.jvmti.dispose();
        free(withdrawn);
    }

    /// Passes the samples that were taken since the last call to `sink`. Must be called regularly, by one thread at a
    /// time. `is_last` is true if the agent's work ends.
    pub(crate) fn drain(self, jni: Jni<'_>, sink: &mut dyn SampleSink, is_last: bool) {
        self.0.keep_signal();
        drain::drain(self.0, jni, sink, is_last);
    }

    /// Returns the outcome of the self-check so far.
    pub(crate) fn trust(self) -> Trust {
        self.0.check.trust()
    }

    /// Returns the counts since the start.
    pub(crate) fn counts(self) -> SamplingCounts {
        let (compared, equal) = self.0.check.compared();
        SamplingCounts {
            lost: self.0.shared.ring.lost(),
            untimed_threads: self.0.threads().untimed(),
            compared: u64::from(compared),
            equal: u64::from(equal),
        }
    }

    /// Returns the nanoseconds of processor time that samples have taken from the threads of the program.
    pub(crate) fn spent_ns(self) -> u64 {
        self.0.shared.spent_ns.load(Ordering::Relaxed)
    }

    /// Returns a note for the user if too many classes have been loaded and unloaded.
    pub(crate) fn unloaded_note(self) -> Option<String> {
        self.0.known().methods.is_full().then(|| {
            "so many classes were loaded and unloaded that samples in classes loaded later are shown as (unloaded class)"
                .to_owned()
        })
    }

    /// Returns a note for the user if any of the `samples` so far are in code that was compiled before an agent was
    /// attached.
    pub(crate) fn early_code_note(self, samples: u64) -> Option<String> {
        let early = self.0.early_samples.load(Ordering::Relaxed).min(samples);
        (early > 0).then(|| {
            let percent = 100.0 * early as f64 / samples as f64;
            format!(
                "{percent:.0} % of the samples are in code that the JVM compiled before Loadhook was attached; for such \
                 code the JVM keeps the inlined methods at safepoints only, so some of these samples show a method inlined next to the one that ran"
            )
        })
    }

    /// Returns a note for the user if not all work of the JIT compiler could be recorded.
    pub(crate) fn jit_note(self) -> Option<String> {
        self.0.jit_note()
    }

    /// Returns a note for the user if the program handles the signal that the sampler would use.
    pub(crate) fn signal_note(self) -> Option<String> {
        let signal = &self.0.signal;
        signal.avoids_sigprof().then(|| {
            let number = signal.number();
            format!("the program uses SIGPROF itself, so the sampler uses signal {number}")
        })
    }
}

type WithdrawnParts = (Option<Withdrawn<Shared>>, Option<Withdrawn<Engine>>);

/// Takes the engine away from callbacks, and the tables away from signal handlers.
fn withdraw() -> WithdrawnParts {
    let tables = handler::withdraw_tables(LONGEST_WAIT);
    (tables, events::withdraw_engine(LONGEST_WAIT))
}

/// Frees the engine and its tables, unless a callback or handler has not ended in time.
fn free(withdrawn: WithdrawnParts) {
    if let (Some(tables), Some(engine)) = withdrawn {
        engine.free();
        tables.free();
    }
}
