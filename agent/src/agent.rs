//! All parts of the agent, gathered in one structure.

use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use loadhook_settings::attach::AttachFigures;

use crate::allocations::Samples;
use crate::budget::log::BudgetLog;
use crate::control::pause::Pauses;
use crate::control::state::Control;
use crate::end::End;
use crate::gc_pauses::GcRecording;
use crate::instrument::hidden_classes::HiddenClasses;
use crate::instrument::instrumentation::Instrumentation;
use crate::jvm::class_definers::{DefinedIn, HiddenClassHook};
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::Local;
use crate::monitors::Monitors;
use crate::net::Connection;
use crate::options::Options;
use crate::sampler::Sampler;
use crate::snapshot::assembly::{Sources, StartTime};
use crate::snapshot::gate::SnapshotGate;
use crate::snapshot::writer::ProfileWriter;
use crate::threads::own::OwnThreads;
use crate::tracker::client::TrackerClient;

/// The parts of the agent. A part that needs other parts gets them as arguments. Only the handlers of the JVM's events
/// use all parts.
pub(crate) struct Agent {
    pub(crate) jvmti: Jvmti,
    pub(crate) instrumentation: Instrumentation,
    pub(crate) hidden_classes: HiddenClasses,
    /// Samples of allocations, if the options ask for them and no other agent samples allocations.
    pub(crate) samples: Option<Samples>,
    /// Samples of running and waiting threads, if the options ask for them.
    pub(crate) sampler: Option<Sampler>,
    pub(crate) own_threads: OwnThreads,
    /// Set at `VMStart`, or when the agent is attached.
    pub(crate) tracker: OnceLock<&'static TrackerClient>,
    pub(crate) gate: SnapshotGate,
    pub(crate) end: End,
    pub(crate) control: Control,
    pub(crate) pauses: Pauses,
    pub(crate) budget: BudgetLog,
    /// Figures of the pauses in which an attached agent changed the loaded classes. Set after these changes.
    pub(crate) attached: OnceLock<AttachFigures>,
    /// The moment when an attached agent had changed the loaded classes.
    pub(crate) watched_since: OnceLock<Instant>,
    /// The time for which an attached agent changed classes, until [`watched_since`](Self::watched_since).
    pub(crate) attaching: OnceLock<Duration>,
    /// Pauses of the garbage collector, if the options ask for them.
    pub(crate) gc: Option<GcRecording>,
    /// Waits of threads for each other, if the options ask for them.
    pub(crate) monitors: Option<Monitors>,
    /// The connection to which HPROF's tables are sent, if HPROF's options give an address instead of a file.
    pub(crate) connection: Option<Connection>,
    pub(crate) writer: ProfileWriter,
    pub(crate) start_time: StartTime,
    /// Set when the first virtual thread has ended.
    pub(crate) had_virtual_threads: AtomicBool,
}

impl Agent {
    pub(crate) fn options(&self) -> &Options {
        self.instrumentation.hook.options()
    }

    /// Returns whether the agent needs the class-load hook when it is not paused.
    pub(crate) fn has_hook(&self) -> bool {
        let selects_none = self.instrumentation.hook.watch().filter.selects_none();
        (self.options().rewrites() && !selects_none) || self.sees_redefinitions()
    }

    /// Returns whether the samples of allocations need the class-load hook, which shows them each redefinition of a
    /// class. After a redefinition, a [key](crate::jvm::sampling::StackKey) with an interpreted method may stand for
    /// another method. In two cases such keys are never used, so the hook is not needed for them: in an attached agent,
    /// which does not know the redefinitions before it was attached; and if waits are recorded, because that redefines
    /// a class.
    fn sees_redefinitions(&self) -> bool {
        let samples = self.samples.as_ref();
        samples.is_some_and(Samples::can_see_redefinitions)
            && self.monitors.is_none()
            && !self.hidden_classes.is_attached()
    }

    /// Returns whether the agent notes sleeps of threads.
    pub(crate) fn notes_sleeps(&self) -> bool {
        self.monitors.as_ref().is_some_and(Monitors::notes_sleeps)
    }

    /// Returns the parts that a profile is assembled from; `None` before `VMStart`.
    pub(crate) fn sources(&self) -> Option<Sources<'_>> {
        Some(Sources {
            jvmti: self.jvmti,
            instrumentation: &self.instrumentation,
            hidden_classes: &self.hidden_classes,
            samples: self.samples.as_ref(),
            sampler: self.sampler.as_ref(),
            gc: self.gc.as_ref(),
            monitors: self.monitors.as_ref(),
            connection: self.connection.as_ref(),
            tracker: *self.tracker.get()?,
            gate: &self.gate,
            start_time: &self.start_time,
            had_virtual_threads: &self.had_virtual_threads,
            attached: self.attached.get(),
            attaching: self.attaching.get().copied().unwrap_or_default(),
            pauses: &self.pauses,
            budget: &self.budget,
        })
    }
}

impl Agent {
    /// Releases the references and environments that the JVM keeps for the agent. Called when the agent has left.
    pub(crate) fn release(&self, jni: Jni<'_>) {
        if let Some(sampler) = &self.sampler {
            sampler.release(self.jvmti, jni);
        }
        if let Some(samples) = &self.samples {
            samples.release(self.jvmti, jni);
        }
        if let Some(monitors) = &self.monitors {
            monitors.release(jni);
        }
        self.own_threads.release(jni);
        self.instrumentation.loaders.release(self.jvmti, jni);
        self.jvmti.dispose();
    }
}

impl HiddenClassHook for Agent {
    fn is_active(&self) -> bool {
        self.hidden_classes.is_active()
    }

    fn instrument<'f>(
        &self,
        jni: Jni<'f>,
        defined_in: DefinedIn<'_>,
        bytes: &[u8],
    ) -> Option<(Local<'f>, i32)> {
        let reserve = self.tracker.get().map(|tracker| &tracker.reserve);
        match defined_in {
            DefinedIn::Loader(loader) => {
                let hidden = &self.hidden_classes;
                hidden.instrument(&self.instrumentation, reserve, jni, loader, bytes)
            }
            DefinedIn::LoaderOf(host) => {
                let loader = self.jvmti.class_loader(jni, host).ok()?;
                self.instrument(jni, DefinedIn::Loader(loader), bytes)
            }
        }
    }
}
