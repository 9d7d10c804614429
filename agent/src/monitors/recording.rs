//! Records the waits of threads for each other, at the JVM's events and in the calls of probes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use loadhook_profile::WaitKind;
use loadhook_profile::format::hprof::WaitEvent;
use loadhook_rewrite::symbol::text;

use super::blockers::Blockers;
use super::events::{Event, Events, Lost};
use super::frames::{Names, Who, class_name, descriptor};
use super::holders::Holders;
use super::lock_support;
use super::sums::{Holder, Place, Sums, Waiters};
use crate::instrument::instrumentation::Instrumentation;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::Local;
use crate::locks::lock;

/// Maximum number of waits under way that are kept.
const MOST_UNDER_WAY: usize = 1 << 20;

/// Number of frames that are read in addition to [`Monitors::depth`], because there are frames between the program and
/// `LockSupport`.
const LOCK_FRAMES: usize = 12;

/// Maximum number of frames of a stack in a profile.
const PROFILE_DEPTH: usize = 128;

/// The purpose for which waits are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// For HPROF's tables, which have contended waits with stacks of at most `depth` frames, and events of
    /// `Object.wait` and `Thread.sleep`.
    Hprof {
        depth: usize,
        /// True if the same place in two threads counts as two places (`thread=y`).
        by_thread: bool,
    },
    /// For a profile, which has all kinds of waits, and the holders of monitors and locks.
    Profile,
}

/// The record of waits in this JVM.
pub(crate) struct Monitors {
    pub(super) purpose: Purpose,
    pub(super) names: Names,
    holders: Holders,
    /// Set before the probes are inserted.
    blockers: OnceLock<Blockers>,
    pub(super) state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    /// The waits under way.
    under_way: HashMap<(u64, Means), Begun>,
    pub(super) sums: Sums,
    /// The part of `sums` that HPROF's tables do not show any more.
    pub(super) shown: Sums,
    /// Events of `Object.wait` and `Thread.sleep`, for HPROF.
    pub(super) events: Events,
}

/// The waits that HPROF's tables have shown.
pub(crate) struct WaitsSoFar {
    pub(super) sums: Sums,
    /// Number of events of `Object.wait` and `Thread.sleep` that were kept.
    pub(super) events: usize,
    pub(super) lost: Lost,
}

/// The way in which a thread waits. Part of the key of a wait under way, because a thread that parks may at the same
/// time wait for a monitor in the JDK's own code.
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
    /// Number of the place where the thread waits; `None` if there was no room for the place.
    place: Option<u32>,
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

    /// Returns the maximum number of frames of a stack that are kept.
    pub(super) fn depth(&self) -> usize {
        match self.purpose {
            // The limit bounds the size of the buffer for frames. Hardly any stack is deeper.
            Purpose::Hprof { depth, .. } => depth.min(1 << 16),
            Purpose::Profile => PROFILE_DEPTH,
        }
    }

    /// Returns the option by which the user has asked for the recording of waits.
    pub(crate) fn option(&self) -> &'static str {
        match self.purpose {
            Purpose::Hprof { .. } => "monitor=y",
            Purpose::Profile => "locks=true",
        }
    }

    /// Leaves waits out of all later tables for HPROF.
    pub(crate) fn begin_anew(&self, so_far: WaitsSoFar) {
        let mut state = lock(&self.state);
        state.shown = so_far.sums;
        state.events.forget(so_far.events, so_far.lost);
    }

    /// Finds the fields that the handlers of events need. Returns whether the events can be enabled.
    pub(crate) fn begin(&self, jni: Jni<'_>) -> bool {
        self.names.find_fields(jni)
    }

    /// Inserts the probes into the methods that park. `has_hook` is true if `ClassFileLoadHook` is enabled. Returns
    /// whether the JVM has accepted the probes.
    pub(crate) fn begin_parks(&self, jvmti: Jvmti, jni: Jni<'_>, has_hook: bool) -> bool {
        let found = Blockers::find(jni);
        found.is_some_and(|blockers| self.blockers.set(blockers).is_ok())
            && lock_support::change(jvmti, jni, has_hook)
    }

    /// Makes the JVM retransform `LockSupport`, so that the hook decides again whether the class has probes.
    /// `keeps_hook` is true if `ClassFileLoadHook` is to be enabled afterwards. Returns whether the JVM has accepted
    /// the change.
    pub(crate) fn change_parks(&self, jvmti: Jvmti, jni: Jni<'_>, keeps_hook: bool) -> bool {
        !self.probes_parks() || lock_support::change(jvmti, jni, keeps_hook)
    }

    /// Removes the probes when the agent leaves. Called when callbacks can no longer use the agent, because otherwise
    /// the hook would insert the probes again.
    pub(crate) fn leave(&self, jvmti: Jvmti, jni: Jni<'_>) {
        self.change_parks(jvmti, jni, false);
    }

    /// Deletes the JNI references that this record holds.
    pub(crate) fn release(&self, jni: Jni<'_>) {
        if let Some(blockers) = self.blockers.get() {
            blockers.release(jni);
        }
    }

    /// Returns whether `LockSupport` is to have probes while the agent is not paused.
    pub(crate) fn probes_parks(&self) -> bool {
        self.blockers.get().is_some()
    }

    /// Returns whether sleeps of threads are noted.
    pub(crate) fn notes_sleeps(&self) -> bool {
        matches!(self.purpose, Purpose::Hprof { .. })
    }

    /// Handles `MonitorContendedEnter`: a thread begins to wait for a monitor.
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

    /// Handles `MonitorContendedEntered`: a thread has waited for a monitor, and has it now.
    pub(crate) fn entered(&self, jni: Jni<'_>, thread: Local<'_>) {
        self.wait_ends(jni, thread, Means::Enter);
    }

    /// Handles the entry of a method that parks. `argument` is the blocker that the program has passed to it, or null.
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
        // A thread can park without a blocker.
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

    /// Returns the holder of a monitor or lock. `owner` finds the thread that owns it.
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

    /// Ends the wait of a thread and adds the wait to the sums. Returns the thread, and the time for which it waited.
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
        // In HPROF's files, calls of `Object.wait` are events. So sums of them are not needed, and would only take room
        // in the tables.
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
            let class = text(&descriptor(jvmti, jni, object));
            self.note(who, WaitEvent::Begins { class, timeout_ms });
        }
    }

    /// Handles `MonitorWaited`: a thread leaves `Object.wait`.
    pub(crate) fn waited(&self, jvmti: Jvmti, jni: Jni<'_>, thread: Local<'_>, object: Local<'_>) {
        let waited = self.wait_ends(jni, thread, Means::Wait);
        if self.purpose != Purpose::Profile
            && let Some((who, time)) = waited
        {
            let class = text(&descriptor(jvmti, jni, object));
            let waited_ms = time.as_millis() as i64;
            self.note(who, WaitEvent::Ends { class, waited_ms });
        }
    }

    /// Handles the beginning of `Thread.sleep` in the calling thread.
    pub(crate) fn sleeps(&self, jvmti: Jvmti, jni: Jni<'_>, timeout: Duration) {
        // This comes first, because a program that has filled the room for its sleeps sleeps often.
        if !lock(&self.state).events.takes_sleep() {
            return;
        }
        let who = jni.framed(|jni| {
            let thread = jvmti.current_thread(jni).ok()?;
            self.names.thread(jni, thread)
        });
        if let Some(who) = who.flatten() {
            let timeout_ms = timeout.as_millis() as i64;
            self.note(who, WaitEvent::Sleeps { timeout_ms });
        }
    }

    /// Notes an event of `Object.wait` or `Thread.sleep`.
    fn note(&self, thread: Who, event: WaitEvent) {
        lock(&self.state).events.add(Event { thread, event });
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
