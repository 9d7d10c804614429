//! The waits of threads for each other, from the JVM's events and from probes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use loadhook_profile::WaitKind;
use loadhook_profile::format::hprof::WaitMoment;
use loadhook_rewrite::symbol::text;

use super::blockers::Blockers;
use super::frames::{Names, Who, class_name, descriptor};
use super::holders::Holders;
use super::lock_support;
use super::sums::{Holder, Place, Sums, Waiters};
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

/// Maximum number of frames of a stack in a profile.
const PROFILE_DEPTH: usize = 128;

/// The use of the waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// HPROF's tables. They have contended waits with stacks of at most `depth` frames, and events of `Object.wait`.
    Hprof {
        depth: usize,
        /// True if the same place in two threads counts as two places (`thread=y`).
        by_thread: bool,
    },
    /// A profile. It has all kinds of waits, and the holders of monitors and locks.
    Profile,
}

/// The waits in this JVM, as its events and our probes show them.
pub(crate) struct Monitors {
    pub(super) purpose: Purpose,
    pub(super) names: Names,
    holders: Holders,
    /// Set before the probes are put in.
    blockers: OnceLock<Blockers>,
    pub(super) state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    /// The waits under way.
    under_way: HashMap<(u64, Means), Begun>,
    pub(super) sums: Sums,
    /// Events of `Object.wait`, for HPROF.
    pub(super) events: Vec<Event>,
    /// Number of events that were not kept.
    pub(super) lost: u64,
}

/// The means by which a thread waits. A thread that parks may also wait for a monitor of the JVM's own classes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Means {
    Enter,
    Wait,
    Park,
}

const MEANS: [Means; 3] = [Means::Enter, Means::Wait, Means::Park];

/// A wait under way.
struct Begun {
    at: Instant,
    /// Number of the place; `None` if there was no room for it.
    place: Option<u32>,
}

/// A thread begins or ends to wait to be notified.
#[derive(Clone)]
pub(super) struct Event {
    pub(super) thread: Who,
    /// The descriptor of the class of the monitor's object.
    pub(super) class: String,
    pub(super) moment: WaitMoment,
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
    /// Makes an empty record of waits.
    pub(crate) fn new(purpose: Purpose) -> Monitors {
        Monitors {
            purpose,
            names: Names::default(),
            holders: Holders::new(),
            blockers: OnceLock::new(),
            state: Mutex::default(),
        }
    }

    /// Maximum number of frames of a stack.
    pub(super) fn depth(&self) -> usize {
        match self.purpose {
            // The limit bounds the buffer for frames. Hardly any stack is deeper.
            Purpose::Hprof { depth, .. } => depth.min(1 << 16),
            Purpose::Profile => PROFILE_DEPTH,
        }
    }

    /// The option that asks for the waits.
    pub(crate) fn option(&self) -> &'static str {
        match self.purpose {
            Purpose::Hprof { .. } => "monitor=y",
            Purpose::Profile => "locks=true",
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

    /// Has the class file hook choose again whether `LockSupport` has probes. `keeps_hook` is true if the hook is to be
    /// enabled afterwards. Returns whether the JVM has accepted that.
    pub(crate) fn change_parks(&self, jvmti: Jvmti, jni: Jni<'_>, keeps_hook: bool) -> bool {
        !self.probes_parks() || lock_support::change(jvmti, jni, keeps_hook)
    }

    /// Takes the probes out when the agent leaves. The class file hook must not add them again.
    pub(crate) fn leave(&self, jvmti: Jvmti, jni: Jni<'_>) {
        self.change_parks(jvmti, jni, false);
    }

    /// Gives back the references to objects.
    pub(crate) fn release(&self, jni: Jni<'_>) {
        if let Some(blockers) = self.blockers.get() {
            blockers.release(jni);
        }
    }

    /// Returns whether `LockSupport` is to have probes, except in pauses.
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
        let jvmti = instrumentation.jvmti;
        let frames = jvmti.stack_trace(self.depth());
        self.names.keep(instrumentation, jni, &frames);
        let place = Place {
            kind: WaitKind::Monitor,
            class: class_name(jvmti, jni, object).into(),
            frames: frames.into(),
            holder: self.holder(instrumentation, jni, || {
                Some(jvmti.monitor_threads(jni, object).ok()?.owner)
            }),
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
        // A thread can park for no object.
        let (class, kind) = if blocker.is_null() {
            (String::new(), WaitKind::Park)
        } else {
            let class = class_name(jvmti, jni, blocker);
            let kind = blockers.kind(jni, blocker, &class);
            (class, kind)
        };
        if !kind.is_contention() && self.purpose != Purpose::Profile {
            return;
        }
        let Some(who) = self.names.thread(jni, thread) else {
            return;
        };
        let depth = self.depth();
        let frames = jvmti.stack_trace(depth + LOCK_FRAMES);
        self.names.keep(instrumentation, jni, &frames);
        let outside = self.names.outside_of_locks(&frames);
        let holder = if kind.is_contention() {
            self.holder(instrumentation, jni, || Some(blockers.owner(jni, blocker)))
        } else {
            None
        };
        let place = Place {
            kind,
            class: class.into(),
            frames: Arc::from(&outside[..outside.len().min(depth)]),
            holder,
        };
        self.wait_begins(who, Means::Park, at, place);
    }

    /// Handles the exit of a method that parks.
    pub(crate) fn parked(&self, jni: Jni<'_>, thread: Local<'_>) {
        self.wait_ends(jni, thread, Means::Park);
    }

    /// The holder of a monitor or lock, whose thread `owner` finds.
    fn holder<'f>(
        &self,
        instrumentation: &Instrumentation,
        jni: Jni<'f>,
        owner: impl FnOnce() -> Option<Local<'f>>,
    ) -> Option<Holder> {
        let is_wanted = self.purpose == Purpose::Profile;
        let ask = || self.holders.ask(instrumentation, jni, &self.names, owner);
        is_wanted.then(ask).flatten()
    }

    fn wait_begins(&self, who: Who, means: Means, at: Instant, place: Place) {
        let mut state = lock(&self.state);
        let place = state.sums.place(place);
        if state.under_way.len() < MOST_UNDER_WAY {
            state.under_way.insert((who.id, means), Begun { at, place });
        }
    }

    /// Returns the thread and the time for which it waited.
    fn wait_ends(&self, jni: Jni<'_>, thread: Local<'_>, means: Means) -> Option<(Who, Duration)> {
        let ended = Instant::now();
        let who = self.names.thread(jni, thread)?;
        let waiters = match self.purpose {
            Purpose::Hprof {
                by_thread: false, ..
            } => Waiters::All,
            _ if who.is_virtual => Waiters::Virtual,
            _ => Waiters::Thread(who.id),
        };
        let mut state = lock(&self.state);
        let begun = state.under_way.remove(&(who.id, means))?;
        let time = ended.saturating_duration_since(begun.at);
        // In HPROF's files, calls of `Object.wait` are events. Sums of them would only take room from the tables.
        if self.purpose == Purpose::Profile || means != Means::Wait {
            state.sums.add(waiters, begun.place, who, time);
        }
        Some((who, time))
    }

    /// Handles `MonitorWait`: a thread calls `Object.wait`.
    pub(crate) fn wait(
        &self,
        instrumentation: &Instrumentation,
        jni: Jni<'_>,
        thread: Local<'_>,
        object: Local<'_>,
        timeout_ms: i64,
    ) {
        let at = Instant::now();
        let Some(who) = self.names.thread(jni, thread) else {
            return;
        };
        let jvmti = instrumentation.jvmti;
        let mut frames = Vec::new();
        if self.purpose == Purpose::Profile {
            frames = jvmti.stack_trace(PROFILE_DEPTH);
            self.names.keep(instrumentation, jni, &frames);
        }
        let place = Place {
            kind: WaitKind::Notification,
            class: class_name(jvmti, jni, object).into(),
            frames: frames.into(),
            holder: None,
        };
        self.wait_begins(who, Means::Wait, at, place);
        if self.purpose != Purpose::Profile {
            self.note(jvmti, jni, who, object, WaitMoment::Begins { timeout_ms });
        }
    }

    /// Handles `MonitorWaited`: a thread leaves `Object.wait`.
    pub(crate) fn waited(&self, jvmti: Jvmti, jni: Jni<'_>, thread: Local<'_>, object: Local<'_>) {
        let waited = self.wait_ends(jni, thread, Means::Wait);
        if self.purpose != Purpose::Profile
            && let Some((who, time)) = waited
        {
            let waited_ms = time.as_millis() as i64;
            self.note(jvmti, jni, who, object, WaitMoment::Ends { waited_ms });
        }
    }

    /// Notes an event of `Object.wait`.
    fn note(&self, jvmti: Jvmti, jni: Jni<'_>, who: Who, object: Local<'_>, moment: WaitMoment) {
        let event = Event {
            thread: who,
            class: text(&descriptor(jvmti, jni, object)),
            moment,
        };
        lock(&self.state).note(event);
    }

    /// Handles `ThreadEnd` and `VirtualThreadEnd`.
    pub(crate) fn thread_ends(&self, jni: Jni<'_>, thread: Local<'_>) {
        let ended = match self.purpose {
            Purpose::Profile => self.names.forget(jni, thread),
            Purpose::Hprof { .. } => {
                let id = self.names.thread_ends(jni, thread);
                id.map(|id| (id, String::new()))
            }
        };
        let Some((id, name)) = ended else {
            return;
        };
        let mut state = lock(&self.state);
        for means in MEANS {
            state.under_way.remove(&(id, means));
        }
        if self.purpose == Purpose::Profile {
            state.sums.thread_ends(id, &name);
        }
    }
}
