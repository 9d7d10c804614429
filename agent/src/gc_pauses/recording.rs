//! Records pauses at the events of their begin and end. The program is stopped when these events come.

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
    /// The number of pauses of each collector, at the end of the last pause.
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
        let counters = self.counters.get().and_then(Option::as_ref);
        lock(&self.state).end(counters, ended);
    }

    /// Returns the pauses so far.
    pub(crate) fn pauses(&self) -> Vec<GcPauses> {
        lock(&self.state).pauses.clone()
    }

    /// Returns a note if the causes of collections are not known.
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
    /// Adds the pause that ends now, unless recording was paused when it began. The collectors' numbers of pauses are
    /// read in any case: otherwise the collector of this pause would also seem to have run in the next pause.
    fn end(&mut self, counters: Option<&Counters>, ended: Instant) {
        let (cause, collector) = match counters {
            Some(counters) => {
                let invocations = counters.invocations();
                let collector = counters.ran(&self.invocations, &invocations);
                self.invocations = invocations;
                (counters.cause(collector), collector.to_owned())
            }
            None => (String::new(), String::new()),
        };
        if let Some(began) = self.began.take() {
            self.add(cause, collector, ended - began);
        }
    }

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

#[cfg(test)]
mod tests {
    use super::super::counters::tests::memory;
    use super::*;
    use crate::jvm::sampling::SafeMemory;

    #[test]
    fn a_pause_that_is_not_recorded_changes_no_other() {
        let counters = |young: u64, full: u64| {
            memory(&[
                ("sun.gc.cause", b"No GC\0"),
                ("sun.gc.lastCause", b"Allocation Failure\0"),
                ("sun.gc.collector.0.name", b"young\0"),
                ("sun.gc.collector.0.invocations", &young.to_ne_bytes()),
                ("sun.gc.collector.1.name", b"full\0"),
                ("sun.gc.collector.1.invocations", &full.to_ne_bytes()),
            ])
        };
        let mut state = State::default();
        // Only the first and the last pause are recorded.
        for (young, full, is_recorded) in [(1, 0, true), (1, 1, false), (2, 1, true)] {
            let memory = counters(young, full);
            let address = memory.as_ptr().expose_provenance();
            let safe = SafeMemory::open().expect("memory can be read");
            let counters = Counters::at(safe, address, memory.len()).expect("the memory is sound");
            let now = Instant::now();
            state.invocations.resize(2, 0);
            state.began = is_recorded.then_some(now);
            state.end(Some(&counters), now);
        }
        let [pauses] = &state.pauses[..] else {
            panic!("{:?}", state.pauses);
        };
        assert_eq!((&*pauses.collector, pauses.pauses), ("young", 2));
        assert_eq!(pauses.cause, "Allocation Failure");
    }
}
