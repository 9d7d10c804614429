//! Recording of pauses, at the events of their begin and end. The program is stopped meanwhile.

use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use loadhook_profile::GcPauses;

use super::counters::Counters;
use crate::diagnostics;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::sys::event;
use crate::locks::lock;

/// The pauses of this JVM so far.
#[derive(Default)]
pub(crate) struct GcRecording {
    /// Set before the events are enabled; `None` inside if the JVM has no counters.
    counters: OnceLock<Option<Counters>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The begin of the pause that is under way.
    began: Option<Instant>,
    /// The numbers of pauses at the end of the last one, by collector.
    invocations: Vec<usize>,
    pauses: Vec<GcPauses>,
}

impl GcRecording {
    /// Enables the events.
    pub(crate) fn begin(&self, jvmti: Jvmti) {
        let counters = self.counters.get_or_init(Counters::find);
        if let Some(counters) = counters {
            lock(&self.state).invocations = counters.invocations();
        }
        for event in [
            event::GARBAGE_COLLECTION_START,
            event::GARBAGE_COLLECTION_FINISH,
        ] {
            if let Err(error) = jvmti.notify(event, true) {
                diagnostics::once(&format!(
                    "pauses of the garbage collector are not recorded: the JVM does not report them ({error})"
                ));
            }
        }
    }

    /// Handles `GarbageCollectionStart`.
    pub(crate) fn pause_begins(&self) {
        lock(&self.state).began = Some(Instant::now());
    }

    /// Handles `GarbageCollectionFinish`.
    pub(crate) fn pause_ends(&self) {
        let ended = Instant::now();
        let mut state = lock(&self.state);
        let Some(began) = state.began.take() else {
            return;
        };
        let (cause, collector) = match self.counters.get() {
            Some(Some(counters)) => {
                let invocations = counters.invocations();
                let collector = counters.ran(&state.invocations, &invocations);
                let reason = (counters.cause(collector), collector.to_owned());
                state.invocations = invocations;
                reason
            }
            _ => (String::new(), String::new()),
        };
        state.add(cause, collector, ended - began);
    }

    /// The pauses so far.
    pub(crate) fn pauses(&self) -> Vec<GcPauses> {
        lock(&self.state).pauses.clone()
    }

    /// The note of a profile without causes.
    pub(crate) fn note(&self) -> Option<String> {
        let is_missing = matches!(self.counters.get(), Some(None));
        is_missing.then(|| {
            "the causes of collections are not known, since this JVM has no performance counters \
             (-XX:+UsePerfData turns them on)"
                .to_owned()
        })
    }
}

impl State {
    fn add(&mut self, cause: String, collector: String, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let pause = GcPauses {
            cause,
            collector,
            pauses: 1,
            total_ns: ns,
            longest_ns: ns,
        };
        let is_same = |other: &&mut GcPauses| {
            other.cause == pause.cause && other.collector == pause.collector
        };
        match self.pauses.iter_mut().find(is_same) {
            Some(sum) => sum.add(&pause),
            None => self.pauses.push(pause),
        }
    }
}
