//! The waits of threads for each other, from the JVM's events and from probes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use loadhook_profile::format::hprof::{Contention, MonitorTables, WaitMoment, Waiting};
use loadhook_profile::{Profile, WaitKind};
use loadhook_rewrite::symbol::text;
use loadhook_text::count;

use super::blockers::Blockers;
use super::dump::dump;
use super::frames::{Names, Who, class_name, descriptor};
use super::lock_support;
use super::sums::{Place, Sums, Waiters};
use crate::diagnostics;
use crate::frames::profile_parts::ProfileMethods;
use crate::instrument::instrumentation::Instrumentation;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::Local;
use crate::locks::lock;

/// Number of events of `Object.wait` that are kept. Further ones are only counted.
const MOST_EVENTS: usize = 10_000;

/// Number of waits under way that are kept.
const MOST_UNDER_WAY: usize = 1 << 20;

/// Number of frames between the program and `LockSupport` for which there is room beside the depth.
const LOCK_FRAMES: usize = 12;

/// The waits in this JVM, as its events and our probes show them.
pub(crate) struct Monitors {
    /// Maximum number of frames of a stack.
    depth: usize,
    /// True if the same place in two threads counts as two places (`thread=y`).
    by_thread: bool,
    names: Names,
    /// Set before the probes are put in.
    blockers: OnceLock<Blockers>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The waits under way.
    under_way: HashMap<(u64, Means), Begun>,
    /// Threads that wait to be notified, by id.
    waiting: HashMap<u64, Instant>,
    sums: Sums,
    /// Events of `Object.wait`.
    events: Vec<Event>,
    /// Number of events that were not kept.
    lost: u64,
}

/// The means by which a thread waits. A thread that parks may also wait for a monitor of the JVM's own classes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Means {
    Enter,
    Park,
}

/// A wait under way.
struct Begun {
    at: Instant,
    /// Number of the place; `None` if there was no room for it.
    place: Option<u32>,
}

/// A thread begins or ends to wait to be notified.
#[derive(Clone)]
struct Event {
    thread: Who,
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

impl Monitors {
    /// Makes a record of waits with stacks of at most `depth` frames.
    pub(crate) fn new(depth: usize, by_thread: bool) -> Monitors {
        Monitors {
            // The limit bounds the buffer for frames. Hardly any stack is deeper.
            depth: depth.min(1 << 16),
            by_thread,
            names: Names::default(),
            blockers: OnceLock::new(),
            state: Mutex::default(),
        }
    }

    /// Prepares for the events. Returns whether they can be enabled.
    pub(crate) fn begin(&self, jni: Jni<'_>) -> bool {
        self.names.find_fields(jni)
    }

    /// Puts the probes in that show threads which park. `has_hook` is true if the agent's class file hook is enabled.
    /// Returns whether the JVM has accepted them.
    pub(crate) fn begin_parks(&self, jvmti: Jvmti, jni: Jni<'_>, has_hook: bool) -> bool {
        let found = Blockers::find(jni);
        found.is_some_and(|blockers| self.blockers.set(blockers).is_ok())
            && lock_support::change(jvmti, jni, has_hook)
    }

    /// Takes the probes out when the agent leaves. The class file hook must not add them again.
    pub(crate) fn leave(&self, jvmti: Jvmti, jni: Jni<'_>) {
        if self.probes_parks() {
            lock_support::change(jvmti, jni, false);
        }
    }

    /// Gives back the references to objects.
    pub(crate) fn release(&self, jni: Jni<'_>) {
        if let Some(blockers) = self.blockers.get() {
            blockers.release(jni);
        }
    }

    /// Returns whether `LockSupport` is to have probes.
    pub(crate) fn probes_parks(&self) -> bool {
        self.blockers.get().is_some()
    }

    /// Handles `MonitorContendedEnter`: a thread begins to wait.
    pub(crate) fn enter(
        &self,
        instrumentation: &Instrumentation,
        jni: Jni<'_>,
        thread: Local<'_>,
        object: Local<'_>,
    ) {
        let at = Instant::now();
        let Some(who) = self.names.thread(jni, thread) else {
            return;
        };
        let frames = instrumentation.jvmti.stack_trace(self.depth);
        self.names.keep(instrumentation, jni, &frames);
        let place = Place {
            kind: WaitKind::Monitor,
            class: class_name(instrumentation.jvmti, jni, object).into(),
            frames: frames.into(),
        };
        self.wait_begins(who, Means::Enter, at, place);
    }

    /// Handles `MonitorContendedEntered`: a thread has waited.
    pub(crate) fn entered(&self, jni: Jni<'_>, thread: Local<'_>) {
        self.wait_ends(jni, thread, Means::Enter);
    }

    /// Handles the entry of a method that parks. `argument` is its blocker, or null.
    pub(crate) fn parks(
        &self,
        instrumentation: &Instrumentation,
        jni: Jni<'_>,
        thread: Local<'_>,
        argument: Local<'_>,
    ) {
        let at = Instant::now();
        let Some(blockers) = self.blockers.get() else {
            return;
        };
        let jvmti = instrumentation.jvmti;
        let blocker = blockers.blocker(jni, thread, argument);
        if blocker.is_null() {
            return;
        }
        let class = class_name(jvmti, jni, blocker);
        if !blockers.kind(jni, blocker, &class).is_contention() {
            return;
        }
        let Some(who) = self.names.thread(jni, thread) else {
            return;
        };
        let frames = jvmti.stack_trace(self.depth + LOCK_FRAMES);
        self.names.keep(instrumentation, jni, &frames);
        let outside = self.names.outside_of_locks(&frames);
        let place = Place {
            kind: WaitKind::Lock,
            class: class.into(),
            frames: Arc::from(&outside[..outside.len().min(self.depth)]),
        };
        self.wait_begins(who, Means::Park, at, place);
    }

    /// Handles the exit of a method that parks.
    pub(crate) fn parked(&self, jni: Jni<'_>, thread: Local<'_>) {
        self.wait_ends(jni, thread, Means::Park);
    }

    fn wait_begins(&self, who: Who, means: Means, at: Instant, place: Place) {
        let mut state = lock(&self.state);
        let place = state.sums.place(place);
        if state.under_way.len() < MOST_UNDER_WAY {
            state.under_way.insert((who.id, means), Begun { at, place });
        }
    }

    fn wait_ends(&self, jni: Jni<'_>, thread: Local<'_>, means: Means) {
        let ended = Instant::now();
        let Some(who) = self.names.thread(jni, thread) else {
            return;
        };
        let waiters = if self.by_thread {
            Waiters::Thread(who.id)
        } else {
            Waiters::All
        };
        let mut state = lock(&self.state);
        if let Some(begun) = state.under_way.remove(&(who.id, means)) {
            let time = ended.saturating_duration_since(begun.at);
            state.sums.add(waiters, begun.place, who, time);
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
        state.waiting.insert(thread.id, Instant::now());
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
        let Some(began) = state.waiting.remove(&thread.id) else {
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
        if let Some(id) = self.names.thread_ends(jni, thread) {
            let mut state = lock(&self.state);
            state.under_way.remove(&(id, Means::Enter));
            state.under_way.remove(&(id, Means::Park));
            state.waiting.remove(&id);
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
        let (sums, events, lost_waits) = {
            let state = lock(&self.state);
            (state.sums.clone(), state.events.clone(), state.lost)
        };
        if sums.lost() > 0 {
            diagnostics::line(&format!(
                "monitor=y: {} waits at further places are not in MONITOR TIME and PARK TIME; give a smaller depth= or thread=n",
                count(sums.lost())
            ));
        }
        let mut contentions = Vec::new();
        for (_, place, sum) in sums.all() {
            contentions.push(Contention {
                kind: place.kind,
                thread: self.names.index(sum.first, profile),
                frames: self.names.places(&place.frames, &mut methods, profile),
                class: place.class.to_string(),
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
            lost_waits,
            dump,
        }
    }
}
