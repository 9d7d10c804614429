//! The sampler of a JVM: which threads are sampled, and the sampler's start, pauses and end.

use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use loadhook_profile::{Engine, Sampling};
use loadhook_settings::Sampler as EngineChoice;

use super::arrivals::{Arrivals, Found};
use super::forest::Forest;
use super::jit::JitTable;
use super::names::Names;
use super::parts::{Parts, Shared, SharedState};
use super::settings::{DRAIN_INTERVAL, SamplerSettings, VISIT_INTERVAL};
use super::turns::{Turn, Turns};
use crate::diagnostics;
use crate::instrument::instrumentation::Instrumentation;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::Local;
use crate::jvm::sampling::{AsyncEngine, NotAsync, SamplingSettings};
use crate::locks::lock;
use crate::snapshot::gate::SnapshotGate;
use crate::threads::fields::ThreadFields;
use crate::threads::own::OwnThreads;

/// Samples the threads of a JVM.
pub(crate) struct Sampler {
    pub(super) parts: Parts,
    fields: OnceLock<ThreadFields>,
    /// Lets one thread at a time do the sampler's work, and no thread after the end.
    gate: SnapshotGate,
    /// The state of the work. It is `None` while a turn uses the state, because the lock must not be held during a call
    /// of the JVM.
    turns: Mutex<Option<Box<Turns>>>,
}

impl Sampler {
    /// Prepares the sampler, in `Agent_OnLoad`.
    pub(crate) fn load(settings: SamplerSettings) -> Self {
        let loaded = (settings.engine != EngineChoice::Safepoint).then(|| {
            AsyncEngine::load(SamplingSettings {
                interval: settings.interval,
                clock_source: settings.clock_source,
                jit: settings.jit,
                lines: settings.lines,
            })
        });
        let (engine, not_async) = match loaded {
            Some(Ok(engine)) => (Some(engine), None),
            Some(Err(reason)) => (None, Some(reason)),
            None => (None, None),
        };
        let interval = if engine.is_some() {
            settings.interval
        } else {
            settings.safepoint_interval()
        };
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let sampler = Sampler {
            fields: OnceLock::new(),
            parts: Parts {
                settings,
                engine,
                arrivals: Arrivals::default(),
                shared: Shared::new(SharedState {
                    names: Names::new(),
                    forest: Forest::new(settings.max_nodes),
                    sampling: Sampling {
                        engine: if engine.is_some() {
                            Engine::Async
                        } else {
                            Engine::Safepoint
                        },
                        interval_ns: nanos(interval),
                        wall_interval_ns: if settings.waiting {
                            nanos(VISIT_INTERVAL)
                        } else {
                            0
                        },
                        ..Sampling::default()
                    },
                    jit: settings.jit.then(JitTable::default),
                    vm_threads: Vec::new(),
                    not_async: None,
                    untimed_threads: 0,
                }),
            },
            gate: SnapshotGate::default(),
            turns: Mutex::default(),
        };
        if let Some(reason) = not_async {
            sampler.parts.fall_back(&reason.to_string());
        }
        sampler
    }

    /// Notes the loaded classes of a running program. Called before classes are changed and sampling begins.
    pub(crate) fn note_loaded_classes(&self, jni: Jni<'_>) {
        if let Some(engine) = self.parts.engine {
            engine.note_loaded(jni);
        }
    }

    /// Notes the methods of a class that is about to be redefined, if they are not noted yet.
    pub(crate) fn note_redefined_class(&self, jni: Jni<'_>, class: Local<'_>) {
        if let Some(engine) = self.parts.engine {
            engine.note_before_redefinition(jni, class);
        }
    }

    /// Begins to sample. `current` is the calling thread at `VMInit`, or null in a running program. The
    /// sampler's thread calls `chore` at its start and then ten times a second, until it returns true. Returns whether
    /// the sampler's thread was started.
    pub(crate) fn begin(
        &'static self,
        instrumentation: &'static Instrumentation,
        own_threads: &OwnThreads,
        jni: Jni<'_>,
        current: Local<'_>,
        mut chore: impl FnMut(Jni<'_>) -> bool + Send + 'static,
    ) -> bool {
        let Some(fields) = ThreadFields::find(jni) else {
            diagnostics::once(
                "threads are not sampled: java.lang.Thread of this JVM has no fields tid and name",
            );
            return false;
        };
        let begun = self
            .parts
            .engine
            .map(|engine| engine.begin(jni, current.is_null()));
        let is_async = match &begun {
            Some(Err(reason)) => {
                self.not_begun(jni, reason);
                false
            }
            begun => begun.is_some(),
        };
        let fields = self.fields.get_or_init(|| fields);
        let jvmti = instrumentation.jvmti;
        *lock(&self.turns) = Some(Box::new(Turns::new(is_async, self.parts.settings.lines)));
        let noted = jni.framed(|jni| {
            jni.ensure_local_capacity();
            for thread in jvmti.threads(jni).unwrap_or_default() {
                if !own_threads.contains(jni, thread) {
                    let found = if jni.is_same(thread, current) {
                        Found::Calling
                    } else {
                        Found::Listed
                    };
                    let engine = self.parts.engine.filter(|_| is_async);
                    self.parts
                        .arrivals
                        .started(jvmti, jni, fields, engine, thread, found);
                }
            }
        });
        let interval = if is_async && !self.parts.settings.waiting {
            DRAIN_INTERVAL
        } else {
            VISIT_INTERVAL
        };
        let run = move |jni: Jni<'_>| {
            let mut is_done = chore(jni);
            self.prepare(instrumentation, jni);
            let mut done_at = Instant::now();
            while !self.gate.wait_for_end(interval) {
                let Some(_pass) = self.gate.enter() else {
                    return;
                };
                self.turn(instrumentation, jni, Turns::turn);
                if !is_done && done_at.elapsed() >= DRAIN_INTERVAL {
                    is_done = chore(jni);
                    done_at = Instant::now();
                }
            }
        };
        if noted.is_none() || !own_threads.start(jvmti, jni, c"loadhook sampler", run) {
            if let Some(engine) = self.parts.engine {
                engine.give_up(jni);
            }
            for thread in self.parts.arrivals.close() {
                jni.delete_global(thread);
            }
            diagnostics::once("the sampler's thread cannot be started; no time is measured");
            return false;
        }
        true
    }

    /// Does the work at the beginning that need not be done before the program's `main`. Stops when the JVM ends.
    fn prepare(&self, instrumentation: &Instrumentation, jni: Jni<'_>) {
        if let Some(_pass) = self.gate.enter() {
            self.turn(instrumentation, jni, Turns::begin);
        }
    }

    fn not_begun(&self, jni: Jni<'_>, reason: &NotAsync) {
        if let Some(engine) = self.parts.engine {
            engine.give_up(jni);
        }
        self.parts.fall_back(&reason.to_string());
        let mut shared = self.parts.shared.lock();
        shared.sampling.engine = Engine::Safepoint;
    }

    /// Runs `work` with the state, unless another turn is using the state.
    fn turn(
        &self,
        instrumentation: &Instrumentation,
        jni: Jni<'_>,
        work: impl FnOnce(&mut Turns, &Turn<'_>),
    ) {
        // The state is taken out of the mutex, because the lock must not be held during a call of the JVM.
        let turns = lock(&self.turns).take();
        if let (Some(mut turns), Some(fields)) = (turns, self.fields.get()) {
            let turn = Turn {
                parts: &self.parts,
                instrumentation,
                jni,
                fields,
            };
            work(&mut turns, &turn);
            *lock(&self.turns) = Some(turns);
        }
    }

    /// Handles `ThreadStart`, in the thread that starts.
    pub(crate) fn thread_starts(
        &self,
        instrumentation: &Instrumentation,
        own_threads: &OwnThreads,
        jni: Jni<'_>,
        thread: Local<'_>,
    ) {
        if let Some(fields) = self.fields.get()
            && !thread.is_null()
            && !own_threads.contains(jni, thread)
        {
            let jvmti = instrumentation.jvmti;
            let engine = self.parts.engine;
            let arrivals = &self.parts.arrivals;
            arrivals.started(jvmti, jni, fields, engine, thread, Found::Calling);
        }
    }

    /// Handles `ThreadEnd`, in the thread that ends.
    pub(crate) fn thread_ends(&self, jni: Jni<'_>, thread: Local<'_>) {
        if let Some(fields) = self.fields.get()
            && !thread.is_null()
        {
            self.parts
                .arrivals
                .ended(jni, fields, self.parts.engine, thread);
        }
    }

    /// Takes no samples until [`resume`](Self::resume) is called.
    pub(crate) fn pause(&self, instrumentation: &Instrumentation, jni: Jni<'_>) {
        let Some(_pass) = self.gate.enter() else {
            return;
        };
        if let Some(engine) = self.parts.engine {
            engine.pause();
        }
        self.turn(instrumentation, jni, Turns::pause);
    }

    /// Takes samples again. The time of the pause is not counted.
    pub(crate) fn resume(&self, instrumentation: &Instrumentation, jni: Jni<'_>) {
        let Some(_pass) = self.gate.enter() else {
            return;
        };
        self.turn(instrumentation, jni, Turns::resume);
        if let Some(engine) = self.parts.engine {
            engine.resume();
        }
    }

    /// Returns the nanoseconds of processor time that samples have taken in the threads of the program. The time of the
    /// sampler's thread is not included.
    pub(crate) fn spent_ns(&self) -> u64 {
        self.parts.engine.map_or(0, AsyncEngine::spent_ns)
    }

    /// Returns the nanoseconds of processor time that counting calls has taken, estimated from the samples so far.
    pub(crate) fn counting_ns(&self) -> u64 {
        self.parts.shared.lock().sampling.tracker_ns
    }

    /// Disables the events of the asynchronous engine, when the agent leaves.
    pub(crate) fn disable_events(&self) {
        if let Some(engine) = self.parts.engine {
            engine.disable_events();
        }
    }

    /// Deletes the references to threads and classes. Called when the agent has left.
    pub(crate) fn release(&self, jvmti: Jvmti, jni: Jni<'_>) {
        for thread in self.parts.arrivals.close() {
            jni.delete_global(thread);
        }
        if let Some(mut turns) = lock(&self.turns).take() {
            turns.release(jvmti, jni);
        }
        if let Some(engine) = self.parts.engine {
            engine.leave(jni);
        }
    }

    /// Ends sampling, at `VMDeath` or when the agent leaves, and adds the remaining samples and times. Reads no further
    /// stacks.
    pub(crate) fn finish(&self, instrumentation: &Instrumentation, jni: Jni<'_>) {
        if let Some(engine) = self.parts.engine {
            engine.stop();
        }
        // If the sampler's thread is suspended within a turn, the profile has only what earlier turns have added.
        if self.gate.close() {
            self.turn(instrumentation, jni, Turns::finish);
        }
    }
}
