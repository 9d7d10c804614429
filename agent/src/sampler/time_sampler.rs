//! The sampler of a JVM: its parts, its start and its end.

use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use loadhook_profile::{Engine, Sampling};
use loadhook_settings::Sampler as EngineChoice;
use loadhook_text::count;

use super::arrivals::Arrivals;
use super::forest::Forest;
use super::names::Names;
use super::settings::{DRAIN_INTERVAL, SamplerSettings, VISIT_INTERVAL};
use super::turns::{Turn, Turns};
use super::vm_threads::VmThreadKind;
use crate::diagnostics;
use crate::instrument::instrumentation::Instrumentation;
use crate::jvm::jni::Jni;
use crate::jvm::reference::Local;
use crate::jvm::sampling::{AsyncEngine, NotAsync, SamplingSettings, Trust};
use crate::locks::lock;
use crate::snapshot::gate::SnapshotGate;
use crate::threads::fields::ThreadFields;
use crate::threads::own::OwnThreads;

/// The result so far, which the sampler's thread adds to and profiles read. The lock is never held while the JVM is
/// called.
pub(super) struct Shared(Mutex<SharedState>);

pub(super) struct SharedState {
    pub(super) names: Names,
    pub(super) forest: Forest,
    pub(super) sampling: Sampling,
    /// The processor time of threads that run no Java code.
    pub(super) vm_threads: Vec<(VmThreadKind, u64)>,
    /// The reason why there are no asynchronous samples; `None` if there are, or if none were asked for.
    pub(super) not_async: Option<String>,
    pub(super) untimed_threads: u64,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, SharedState> {
        lock(&self.0)
    }
}

/// Samples the threads of a JVM.
pub(crate) struct Sampler {
    pub(super) settings: SamplerSettings,
    /// `None` if it is not asked for or cannot be had.
    pub(super) engine: Option<AsyncEngine>,
    fields: OnceLock<ThreadFields>,
    pub(super) arrivals: Arrivals,
    pub(super) shared: Shared,
    /// Lets one thread at a time do the work, and none after the end.
    gate: SnapshotGate,
    /// The work. It is taken out while it is done.
    turns: Mutex<Option<Box<Turns>>>,
}

impl Sampler {
    /// Prepares the sampler, in `Agent_OnLoad`.
    pub(crate) fn load(settings: SamplerSettings) -> Self {
        let loaded = (settings.engine != EngineChoice::Safepoint).then(|| {
            AsyncEngine::load(SamplingSettings {
                interval: settings.interval,
                clock_source: settings.clock_source,
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
            settings,
            engine,
            fields: OnceLock::new(),
            arrivals: Arrivals::default(),
            shared: Shared(Mutex::new(SharedState {
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
                vm_threads: Vec::new(),
                not_async: None,
                untimed_threads: 0,
            })),
            gate: SnapshotGate::default(),
            turns: Mutex::default(),
        };
        if let Some(reason) = not_async {
            sampler.fall_back(&reason.to_string());
        }
        sampler
    }

    /// Notes why samples are taken at safepoints. A message tells if asynchronous ones were asked for.
    pub(super) fn fall_back(&self, reason: &str) {
        if self.settings.engine == EngineChoice::Async {
            diagnostics::once(&format!(
                "sampler=async: {reason}; threads are sampled at safepoints"
            ));
        }
        self.shared.lock().not_async = Some(reason.to_owned());
    }

    /// Begins to sample, at `VMInit`. `current` is the calling thread.
    pub(crate) fn begin(
        &'static self,
        instrumentation: &'static Instrumentation,
        own_threads: &OwnThreads,
        jni: Jni<'_>,
        current: Local<'_>,
    ) {
        let Some(fields) = ThreadFields::find(jni) else {
            diagnostics::once("threads are not sampled: this JVM's threads have other fields");
            return;
        };
        let begun = self.engine.map(|engine| engine.begin(jni));
        let is_async = match &begun {
            Some(Err(reason)) => {
                self.not_begun(reason);
                false
            }
            begun => begun.is_some(),
        };
        let fields = self.fields.get_or_init(|| fields);
        let jvmti = instrumentation.jvmti;
        *lock(&self.turns) = Some(Box::new(Turns::new(is_async)));
        let noted = jni.framed(|jni| {
            jni.ensure_local_capacity();
            for thread in jvmti.threads(jni).unwrap_or_default() {
                if !own_threads.contains(jni, thread) {
                    let is_calling = jni.is_same(thread, current);
                    let engine = self.engine.filter(|_| is_async);
                    self.arrivals
                        .started(jvmti, jni, fields, engine, thread, is_calling);
                }
            }
        });
        let interval = if is_async && !self.settings.waiting {
            DRAIN_INTERVAL
        } else {
            VISIT_INTERVAL
        };
        let run = move |jni: Jni<'_>| {
            while !self.gate.wait_for_end(interval) {
                let Some(_pass) = self.gate.enter() else {
                    return;
                };
                self.turn(instrumentation, jni, Turns::turn);
            }
        };
        if noted.is_none() || !own_threads.start(jvmti, jni, c"loadhook sampler", run) {
            diagnostics::once("the sampler's thread cannot be started; no time is measured");
        }
    }

    fn not_begun(&self, reason: &NotAsync) {
        self.fall_back(&reason.to_string());
        let mut shared = self.shared.lock();
        shared.sampling.engine = Engine::Safepoint;
    }

    /// Does a part of the work.
    fn turn(
        &self,
        instrumentation: &Instrumentation,
        jni: Jni<'_>,
        work: impl FnOnce(&mut Turns, &Turn<'_>),
    ) {
        // Taken out, since no lock is held while the JVM is called.
        let turns = lock(&self.turns).take();
        if let (Some(mut turns), Some(fields)) = (turns, self.fields.get()) {
            let turn = Turn {
                sampler: self,
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
            self.arrivals
                .started(jvmti, jni, fields, self.engine, thread, true);
        }
    }

    /// Handles `ThreadEnd`, in the thread that ends.
    pub(crate) fn thread_ends(&self, jni: Jni<'_>, thread: Local<'_>) {
        if let Some(fields) = self.fields.get()
            && !thread.is_null()
        {
            self.arrivals.ended(jni, fields, self.engine, thread);
        }
    }

    /// Ends sampling, at `VMDeath`, and adds what is left. No stack is asked for any more.
    pub(crate) fn finish(&self, instrumentation: &Instrumentation, jni: Jni<'_>) {
        if let Some(engine) = self.engine {
            engine.stop();
        }
        // If its thread is suspended in the work, the profile has what was added before.
        if self.gate.close() {
            self.turn(instrumentation, jni, Turns::finish);
        }
    }

    /// The reason why the asynchronous engine is not to be trusted; `None` as long as it may be.
    pub(super) fn distrust(&self, engine: AsyncEngine) -> Option<String> {
        match engine.trust() {
            Trust::Checking | Trust::Yes => None,
            Trust::No { compared, equal } => Some(format!(
                "of {} stacks only {} were those of the JVM",
                count(u64::from(compared)),
                count(u64::from(equal))
            )),
        }
    }
}
