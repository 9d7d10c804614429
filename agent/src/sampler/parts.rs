//! The parts of the sampler that the threads of the program, the sampler's thread and profiles share.

use std::sync::{Mutex, MutexGuard};

use loadhook_profile::Sampling;
use loadhook_settings::Sampler as EngineChoice;
use loadhook_text::count;

use super::arrivals::Arrivals;
use super::forest::Forest;
use super::jit::JitTable;
use super::names::Names;
use super::settings::SamplerSettings;
use super::vm_threads::VmThreadKind;
use crate::diagnostics;
use crate::jvm::sampling::{AsyncEngine, Trust};
use crate::locks::lock;

/// The settings of the sampler, its engine, the threads that start and end, and the result so far.
pub(super) struct Parts {
    pub(super) settings: SamplerSettings,
    /// The asynchronous engine; `None` if the options do not allow it, or if it cannot work in this JVM.
    pub(super) engine: Option<AsyncEngine>,
    pub(super) arrivals: Arrivals,
    pub(super) shared: Shared,
}

impl Parts {
    /// Notes the reason why threads are sampled at safepoints. If the options ask for asynchronous samples, prints a
    /// message.
    pub(super) fn fall_back(&self, reason: &str) {
        if self.settings.engine == EngineChoice::Async {
            diagnostics::once(&format!(
                "sampler=async: {reason}; threads are sampled at safepoints"
            ));
        }
        self.shared.lock().not_async = Some(reason.to_owned());
    }

    /// Returns the reason why the asynchronous engine is not trusted; `None` while its self-check has found no fault.
    pub(super) fn distrust(&self, engine: AsyncEngine) -> Option<String> {
        match engine.trust() {
            Trust::Checking | Trust::Yes => None,
            Trust::No { compared, equal } => Some(format!(
                "only {1} of {0} checked stacks were equal to the stacks that the JVM reports",
                count(u64::from(compared)),
                count(u64::from(equal))
            )),
        }
    }
}

/// The result so far. The sampler's thread adds to it, and profiles read it. The lock is never held during a call of
/// the JVM.
pub(super) struct Shared(Mutex<SharedState>);

pub(super) struct SharedState {
    pub(super) names: Names,
    pub(super) forest: Forest,
    pub(super) sampling: Sampling,
    /// The compiled methods, if the options ask for them.
    pub(super) jit: Option<JitTable>,
    /// The processor time of threads that run no Java code, by their kind.
    pub(super) vm_threads: Vec<(VmThreadKind, u64)>,
    /// The reason why there are no asynchronous samples; `None` if there are, or if the options do not allow them.
    pub(super) not_async: Option<String>,
    /// Number of threads that could not be sampled, because the system gave no timer for them.
    pub(super) untimed_threads: u64,
}

impl Shared {
    pub(super) fn new(state: SharedState) -> Self {
        Shared(Mutex::new(state))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, SharedState> {
        lock(&self.0)
    }
}
