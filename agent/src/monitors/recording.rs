//! The time that threads wait for monitors, from the JVM's events.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use loadhook_profile::Profile;
use loadhook_profile::format::hprof::{Contention, MonitorTables, WaitMoment, Waiting};
use loadhook_rewrite::symbol::text;

use super::dump::dump;
use super::frames::{Names, class_name, descriptor};
use crate::frames::profile_parts::ProfileMethods;
use crate::instrument::instrumentation::Instrumentation;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::jvmti_stacks::StackFrame;
use crate::jvm::reference::Local;
use crate::locks::lock;

/// Number of events of `Object.wait` that are kept. Further ones are only counted.
const MOST_EVENTS: usize = 10_000;

/// The monitors of this JVM, as its events show them.
pub(crate) struct Monitors {
    /// Maximum number of frames of a stack.
    depth: usize,
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
}

/// The stack of a thread that waited for a monitor, and the class of its object.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Place {
    thread: u64,
    frames: Box<[StackFrame]>,
    class: String,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    count: u64,
    time: Duration,
}

impl Monitors {
    /// Monitors whose stacks have at most this number of frames.
    pub(crate) fn new(depth: usize) -> Monitors {
        Monitors {
            // Deeper stacks do not occur.
            depth: depth.min(1 << 16),
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
            thread,
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
            let sum = state.sums.entry(place).or_default();
            sum.count += 1;
            sum.time += ended - began;
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
        let (sums, events, lost) = {
            let state = lock(&self.state);
            (state.sums.clone(), state.events.clone(), state.lost)
        };
        let mut contentions = Vec::with_capacity(sums.len());
        for (place, sum) in sums {
            contentions.push(Contention {
                thread: self.names.index(place.thread, profile),
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

    /// Gives back what the JVM keeps for the agent.
    pub(crate) fn release(&self, jvmti: Jvmti, jni: Jni<'_>) {
        self.names.release(jvmti, jni);
    }
}
