//! The engine that samples stacks by signals.

use super::sample::{NotAsync, SampleSink, SamplingCounts, SamplingSettings, ThreadNumber, Trust};
use crate::jvm::jni::Jni;
use crate::jvm::reference::Local;

/// Samples stacks by signals. One exists in a process.
#[derive(Clone, Copy)]
pub(crate) struct AsyncEngine(());

impl AsyncEngine {
    /// Prepares the engine, in `Agent_OnLoad`.
    pub(crate) fn load(_settings: SamplingSettings) -> Result<AsyncEngine, NotAsync> {
        Err(NotAsync::Platform)
    }

    /// Notes classes and code that exist at `VMInit`. Threads are sampled from here on, once they are told of by
    /// [`thread_started`](Self::thread_started).
    pub(crate) fn begin(self, _jni: Jni<'_>) -> Result<(), NotAsync> {
        Err(NotAsync::Platform)
    }

    /// Notes the methods of classes that were retransformed. The JVM posts no event that tells of their new code.
    pub(crate) fn retransformed(self, _jni: Jni<'_>, _classes: &[Local<'_>]) {}

    /// Samples a platform thread from here on: the calling one at `ThreadStart`, or another one at `VMInit`. `None` if
    /// it cannot be sampled.
    pub(crate) fn thread_started(self, _jni: Jni<'_>, _thread: Local<'_>) -> Option<ThreadNumber> {
        None
    }

    /// Stops sampling the calling thread, at `ThreadEnd`. Its last samples may still come from
    /// [`drain`](Self::drain), once.
    pub(crate) fn thread_ended(self) -> Option<ThreadNumber> {
        None
    }

    /// Stops all timers, at `VMDeath`.
    pub(crate) fn stop(self) {}

    /// Passes on the samples that were taken since the last call. One thread at a time calls it, and regularly.
    pub(crate) fn drain(self, _jni: Jni<'_>, _sink: &mut dyn SampleSink) {}

    /// The outcome of the self-check so far.
    pub(crate) fn trust(self) -> Trust {
        Trust::Checking
    }

    /// Counts since the start.
    pub(crate) fn counts(self) -> SamplingCounts {
        SamplingCounts::default()
    }

    /// A note for the user about the signal, if it is not the usual one.
    pub(crate) fn signal_note(self) -> Option<String> {
        None
    }
}
