//! Lowered methods: methods from which the budget has removed probes.
//!
//! If calls are timed, a method has probes at its entry and its exits. To lower it, its class is retransformed, and
//! then the method has one probe, which counts calls at the entry, or no probe. A call that has begun before runs the
//! old code to its end and still calls the exit probe. A call that begins later calls neither the entry probe nor the
//! exit probe. So each entry keeps its exit, but for a constructor under way whose `super(…)` or `this(…)` calls the new
//! code and fails: the path then heals at the next exit.
//!
//! If calls are only counted (`--timing sampled`), a lowered method loses its only probe.
//!
//! A lowered method never gets its probes back.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::thread::{self, ThreadId};
use std::time::Duration;

use loadhook_instrument::ProbesLeft;

use super::constructors::Constructors;
use crate::locks::lock;

/// A lowered method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    /// The time, since the program's start, from which the method has been lowered. For a method without probes this is
    /// the end of the change.
    pub(crate) since: Duration,
    /// True if calls before that time may have had all probes.
    pub(crate) had_probes: bool,
    /// True if code of the method with fewer probes may run. Then the method stays marked as lowered.
    is_used: bool,
}

impl Level {
    /// Returns the time from which calls are not timed, in nanoseconds since the program's start; 0 if no call is timed,
    /// because the method has never had timing probes.
    pub(crate) fn untimed_since_ns(&self) -> u64 {
        if self.had_probes { self.since_ns() } else { 0 }
    }

    /// Returns [`since`](Self::since) in nanoseconds.
    pub(crate) fn since_ns(&self) -> u64 {
        u64::try_from(self.since.as_nanos()).unwrap_or(u64::MAX)
    }
}

#[derive(Default)]
struct State {
    /// The methods that have lost their entry and exit probes, and are counted or were counted.
    counted: HashMap<u32, Level>,
    /// The methods that have lost all probes.
    silent: HashMap<u32, Level>,
    /// The thread that is changing classes. The JVM may still refuse the code that is instrumented in this thread.
    changing: Option<ThreadId>,
}

impl State {
    fn unmark<'i>(&mut self, ids: impl Iterator<Item = &'i u32>) {
        for id in ids {
            for levels in [&mut self.counted, &mut self.silent] {
                if levels.get(id).is_some_and(|level| !level.is_used) {
                    levels.remove(id);
                }
            }
        }
    }
}

/// The lowered methods.
#[derive(Default)]
pub(crate) struct Levels {
    state: Mutex<State>,
    pub(crate) constructors: Constructors,
}

impl Levels {
    /// Returns the probes that are left of those of the method with this id. The caller is about to instrument the
    /// method.
    pub(super) fn probes_left(&self, id: u32) -> ProbesLeft {
        let mut state = lock(&self.state);
        let state = &mut *state;
        let is_changing = state.changing == Some(thread::current().id());
        let (level, left) = if let Some(level) = state.silent.get_mut(&id) {
            (level, ProbesLeft::Nothing)
        } else if let Some(level) = state.counted.get_mut(&id) {
            (level, ProbesLeft::Count)
        } else {
            return ProbesLeft::All;
        };
        // Any other thread instruments the method because it loads a copy of the class, or because another agent
        // changes the class. The JVM will use that code.
        level.is_used |= !is_changing;
        left
    }

    /// Returns the methods that have lost their entry and exit probes and got a counting probe, by their ids. Some may
    /// be [`silent`](Self::silent) now.
    pub(crate) fn counted(&self) -> BTreeMap<u32, Level> {
        by_id(&lock(&self.state).counted)
    }

    /// Returns the methods that have lost all probes, by their ids.
    pub(crate) fn silent(&self) -> BTreeMap<u32, Level> {
        by_id(&lock(&self.state).silent)
    }

    /// Marks a method as only counted from its first call on.
    pub(super) fn begin_counted(&self, id: u32, since: Duration) {
        lock(&self.state).counted.entry(id).or_insert(Level {
            since,
            had_probes: false,
            is_used: true,
        });
    }

    /// Marks methods as lowered from the time `since` on: only counted, or without any probe. The calling thread must
    /// then retransform the methods' classes and call [`end_change`](Self::end_change).
    pub(super) fn mark<'i>(
        &self,
        counted: impl Iterator<Item = &'i u32>,
        silent: impl Iterator<Item = &'i u32>,
        since: Duration,
    ) {
        let mut state = lock(&self.state);
        state.changing = Some(thread::current().id());
        let level = Level {
            since,
            had_probes: true,
            is_used: false,
        };
        for id in counted {
            state.counted.entry(*id).or_insert(level);
        }
        for id in silent {
            state.silent.entry(*id).or_insert(level);
        }
    }

    /// Removes the marks of the change that is under way from these methods, unless code of them with fewer probes may
    /// run.
    pub(super) fn unmark<'i>(&self, ids: impl Iterator<Item = &'i u32>) {
        lock(&self.state).unmark(ids);
    }

    /// Ends a change of classes at the time `now`. `unchanged` are the methods whose classes the JVM did not change. They
    /// lose the marks of this change like by [`unmark`](Self::unmark).
    pub(super) fn end_change<'i>(&self, unchanged: impl Iterator<Item = &'i u32>, now: Duration) {
        let mut state = lock(&self.state);
        let state = &mut *state;
        state.changing = None;
        state.unmark(unchanged);
        // Calls are counted until their class is changed.
        for level in state.silent.values_mut().filter(|level| !level.is_used) {
            level.since = now;
        }
        let counted = state.counted.values_mut();
        for level in counted.chain(state.silent.values_mut()) {
            level.is_used = true;
        }
    }
}

fn by_id(levels: &HashMap<u32, Level>) -> BTreeMap<u32, Level> {
    levels.iter().map(|(id, level)| (*id, *level)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SINCE: Duration = Duration::from_secs(1);

    fn marked(levels: &Levels) -> Vec<u32> {
        levels.counted().into_keys().collect()
    }

    fn mark(levels: &Levels, counted: &[u32], since: Duration) {
        levels.mark(counted.iter(), [].iter(), since);
    }

    #[test]
    fn a_method_that_was_not_changed_keeps_its_probes() {
        let levels = Levels::default();
        mark(&levels, &[1, 2], SINCE);
        assert_eq!(
            levels.probes_left(1),
            ProbesLeft::Count,
            "the method is marked, although the JVM may still refuse the code"
        );
        levels.end_change([1].iter(), SINCE);
        assert_eq!(marked(&levels), [2]);
    }

    #[test]
    fn a_method_that_counts_already_goes_on_counting() {
        let levels = Levels::default();
        mark(&levels, &[1, 2, 3], SINCE);
        thread::scope(|scope| {
            let loads = scope.spawn(|| levels.probes_left(2));
            let left = loads.join().expect("the thread did not panic");
            assert_eq!(left, ProbesLeft::Count);
        });
        levels.end_change([1, 2].iter(), SINCE);
        assert_eq!(marked(&levels), [2, 3]);
        mark(&levels, &[3], 2 * SINCE);
        levels.end_change([3].iter(), SINCE);
        assert_eq!(marked(&levels), [2, 3]);
        assert!(levels.counted().values().all(|it| it.since == SINCE));
    }

    /// A constructor of a class that is included after the constructors of its superclass have lost their timing probes.
    #[test]
    fn a_method_that_never_had_timing_probes_did_not_lose_them() {
        let levels = Levels::default();
        levels.begin_counted(1, SINCE);
        mark(&levels, &[2], SINCE);
        let since = levels.counted().into_values();
        let since: Vec<u64> = since.map(|level| level.untimed_since_ns()).collect();
        assert_eq!(since, [0, 1_000_000_000]);
    }

    #[test]
    fn a_counted_method_loses_its_last_probe_later() {
        let levels = Levels::default();
        mark(&levels, &[1, 2], SINCE);
        levels.end_change([].iter(), SINCE);
        levels.mark([].iter(), [1, 2, 3].iter(), 2 * SINCE);
        levels.unmark([2].iter());
        levels.end_change([3].iter(), 3 * SINCE);
        let left = [1, 2, 3].map(|id| levels.probes_left(id));
        assert_eq!(
            left,
            [ProbesLeft::Nothing, ProbesLeft::Count, ProbesLeft::All]
        );
        assert_eq!(levels.silent()[&1].since, 3 * SINCE);
        assert_eq!(levels.counted()[&1].since, SINCE);
    }
}
