//! The time that threads wait for monitors, from the JVM's events.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use loadhook_profile::Profile;
use loadhook_profile::format::hprof::{Contention, MonitorTables, WaitMoment, Waiting};
use loadhook_rewrite::symbol::text;
use loadhook_text::count;

use super::dump::dump;
use super::frames::{Names, class_name, descriptor};
use crate::diagnostics;
use crate::frames::profile_parts::ProfileMethods;
use crate::instrument::instrumentation::Instrumentation;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::jvmti_stacks::StackFrame;
use crate::jvm::reference::Local;
use crate::locks::lock;

/// Number of events of `Object.wait` that are kept. Further ones are only counted.
const MOST_EVENTS: usize = 10_000;

/// Number of places that are kept. Waits at further ones are only counted.
const MOST_PLACES: usize = 100_000;

/// The monitors of this JVM, as its events show them.
pub(crate) struct Monitors {
    /// Maximum number of frames of a stack.
    depth: usize,
    /// True if the same place in two threads counts as two places (`thread=y`).
    by_thread: bool,
    names: Names,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Threads that wait to enter a monitor, by id.
    entering: HashMap<u64, (Instant, Place)>,
    /// Threads that wait to be notified, by id.
    waiting: HashMap<u64, Instant>,
    sums: HashMap<Place, Sum>,
    /// Events of `Object.wait`.
    events: Vec<Event>,
    /// Number of events that were not kept.
    lost: u64,
    /// Number of waits at places that were not kept.
    lost_places: u64,
}

/// A thread begins or ends to wait to be notified.
#[derive(Clone)]
struct Event {
    /// Id of the thread.
    thread: u64,
    /// The descriptor of the class of the monitor's object.
    class: String,
    moment: WaitMoment,
}

impl State {
    fn note(&mut self, event: Event) {
        if self.events.len() < MOST_EVENTS {
            self.events.push(event);
        } else {
            self.lost += 1;
        }
    }

    /// Adds the wait of a thread to enter a monitor.
    fn add(&mut self, thread: u64, place: Place, time: Duration) {
        if self.sums.len() >= MOST_PLACES && !self.sums.contains_key(&place) {
            self.lost_places += 1;
            return;
        }
        let sum = self.sums.entry(place).or_insert(Sum {
            thread,
            count: 0,
            time: Duration::ZERO,
        });
        sum.count += 1;
        sum.time += time;
    }
}

/// The stack of a thread that waited for a monitor, and the class of its object.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Place {
    /// The thread, if places are told apart by it.
    thread: Option<u64>,
    frames: Box<[StackFrame]>,
    class: String,
}

#[derive(Clone, Copy)]
struct Sum {
    /// The first thread that waited at the place.
    thread: u64,
    count: u64,
    time: Duration,
}

impl Monitors {
    /// Makes a record of monitors with stacks of at most `depth` frames.
    pub(crate) fn new(depth: usize, by_thread: bool) -> Monitors {
        Monitors {
            // The limit bounds the buffer for frames. Hardly any stack is deeper.
            depth: depth.min(1 << 16),
            by_thread,
            names: Names::default(),
            state: Mutex::default(),
        }
    }

    /// Prepares for the events. Returns whether they can be enabled.
    pub(crate) fn begin(&self, jni: Jni<'_>) -> bool {
        self.names.find_fields(jni)
    }

    /// Handles `MonitorContendedEnter`: a thread begins to wait.
    pub(crate) fn enter(
        &self,
        instrumentation: &Instrumentation,
        jni: Jni<'_>,
        thread: Local<'_>,
        object: Local<'_>,
    ) {
        let began = Instant::now();
        let jvmti = instrumentation.jvmti;
        let Some(thread) = self.names.thread(jni, thread) else {
            return;
        };
        let frames = jvmti.stack_trace(self.depth).into_boxed_slice();
        self.names.keep(instrumentation, jni, &frames);
        let place = Place {
            thread: self.by_thread.then_some(thread),
            frames,
            class: class_name(jvmti, jni, object),
        };
        lock(&self.state).entering.insert(thread, (began, place));
    }

    /// Handles `MonitorContendedEntered`: a thread has waited.
    pub(crate) fn entered(&self, jni: Jni<'_>, thread: Local<'_>) {
        let ended = Instant::now();
        let Some(thread) = self.names.thread(jni, thread) else {
            return;
        };
        let mut state = lock(&self.state);
        if let Some((began, place)) = state.entering.remove(&thread) {
            state.add(thread, place, ended - began);
        }
    }

    /// Handles `MonitorWait`: a thread calls `Object.wait`.
    pub(crate) fn wait(
        &self,
        jvmti: Jvmti,
        jni: Jni<'_>,
        thread: Local<'_>,
        object: Local<'_>,
        timeout_ms: i64,
    ) {
        let Some(thread) = self.names.thread(jni, thread) else {
            return;
        };
        let class = text(&descriptor(jvmti, jni, object));
        let mut state = lock(&self.state);
        state.waiting.insert(thread, Instant::now());
        state.note(Event {
            thread,
            class,
            moment: WaitMoment::Begins { timeout_ms },
        });
    }

    /// Handles `MonitorWaited`: a thread leaves `Object.wait`.
    pub(crate) fn waited(&self, jvmti: Jvmti, jni: Jni<'_>, thread: Local<'_>, object: Local<'_>) {
        let Some(thread) = self.names.thread(jni, thread) else {
            return;
        };
        let class = text(&descriptor(jvmti, jni, object));
        let mut state = lock(&self.state);
        let Some(began) = state.waiting.remove(&thread) else {
            return;
        };
        let waited_ms = began.elapsed().as_millis() as i64;
        state.note(Event {
            thread,
            class,
            moment: WaitMoment::Ends { waited_ms },
        });
    }

    /// Handles `ThreadEnd` and `VirtualThreadEnd`.
    pub(crate) fn thread_ends(&self, jni: Jni<'_>, thread: Local<'_>) {
        if let Some(thread) = self.names.thread_ends(jni, thread) {
            let mut state = lock(&self.state);
            state.entering.remove(&thread);
            state.waiting.remove(&thread);
        }
    }

    /// The tables of HPROF. Methods and threads that the profile does not have are added to it.
    pub(crate) fn tables(
        &self,
        instrumentation: &Instrumentation,
        jni: Jni<'_>,
        profile: &mut Profile,
    ) -> MonitorTables {
        let mut methods = ProfileMethods::of(profile);
        let dump = dump(
            instrumentation,
            jni,
            self.depth,
            &self.names,
            &mut methods,
            profile,
        );
        let (sums, events, lost, lost_places) = {
            let state = lock(&self.state);
            let (sums, events) = (state.sums.clone(), state.events.clone());
            (sums, events, state.lost, state.lost_places)
        };
        if lost_places > 0 {
            diagnostics::line(&format!(
                "monitor=y: {} waits at further places are not in MONITOR TIME; give a smaller depth= or thread=n",
                count(lost_places)
            ));
        }
        let mut contentions = Vec::with_capacity(sums.len());
        for (place, sum) in sums {
            contentions.push(Contention {
                thread: self.names.index(sum.thread, profile),
                frames: self.names.places(&place.frames, &mut methods, profile),
                class: place.class,
                count: sum.count,
                ns: u64::try_from(sum.time.as_nanos()).unwrap_or(u64::MAX),
            });
        }
        let mut waits = Vec::with_capacity(events.len());
        for event in events {
            waits.push(Waiting {
                thread: self.names.index(event.thread, profile),
                class: event.class,
                moment: event.moment,
            });
        }
        MonitorTables {
            contentions,
            waits,
            lost_waits: lost,
            dump,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_places_has_a_bound() {
        let mut state = State::default();
        let place = |number: usize| Place {
            thread: None,
            frames: Box::default(),
            class: number.to_string(),
        };
        for number in (0..=MOST_PLACES).chain([0]) {
            state.add(1, place(number), Duration::ZERO);
        }
        assert_eq!((state.sums.len(), state.lost_places), (MOST_PLACES, 1));
        assert_eq!(state.sums[&place(0)].count, 2);
    }
}
