//! Lowered methods: methods from which the budget has removed probes.
//!
//! If calls are timed, a method has probes at its entry and its exits. To lower it, its class is retransformed, and
//! then the method has one probe, which counts calls at the entry. A call that has begun before runs the old code to
//! its end and still calls the exit probe. A call that begins later calls neither the entry probe nor the exit probe.
//! So each entry keeps its exit.
//!
//! If calls are only counted (`--timing sampled`), a lowered method loses its only probe.
//!
//! A lowered method never gets its probes back.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::thread::{self, ThreadId};
use std::time::Duration;

use super::constructors::Constructors;
use crate::locks::lock;

/// A lowered method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    /// The time, since the program's start, from which the method has been lowered.
    pub(crate) since: Duration,
    /// True if calls before that time may have had all probes.
    pub(crate) had_probes: bool,
    /// True if code of the method with fewer probes may run. Then the method stays marked as lowered.
    is_used: bool,
}

#[derive(Default)]
struct State {
    by_id: HashMap<u32, Level>,
    /// The thread that is changing classes. The JVM may still refuse the code that is instrumented in this thread.
    changing: Option<ThreadId>,
}

/// The lowered methods.
#[derive(Default)]
pub(crate) struct Levels {
    state: Mutex<State>,
    pub(crate) constructors: Constructors,
}

impl Levels {
    /// Returns whether the method with this id is lowered, so that it gets fewer probes. The caller is about to
    /// instrument the method.
    pub(super) fn is_lowered(&self, id: u32) -> bool {
        let mut state = lock(&self.state);
        let is_changing = state.changing == Some(thread::current().id());
        let Some(level) = state.by_id.get_mut(&id) else {
            return false;
        };
        // Any other thread instruments the method because it loads a copy of the class, or because another agent
        // changes the class. The JVM will use that code.
        level.is_used |= !is_changing;
        true
    }

    /// Returns the lowered methods, by their ids.
    pub(crate) fn lowered(&self) -> BTreeMap<u32, Level> {
        let state = lock(&self.state);
        state
            .by_id
            .iter()
            .map(|(id, level)| (*id, *level))
            .collect()
    }

    /// Marks a method as lowered from its first call on.
    pub(super) fn begin_lowered(&self, id: u32, since: Duration) {
        lock(&self.state).by_id.entry(id).or_insert(Level {
            since,
            had_probes: false,
            is_used: true,
        });
    }

    /// Marks methods as lowered from the time `since` on. The calling thread must then retransform the methods' classes
    /// and call [`end_change`](Self::end_change).
    pub(super) fn mark<'i>(&self, ids: impl Iterator<Item = &'i u32>, since: Duration) {
        let mut state = lock(&self.state);
        state.changing = Some(thread::current().id());
        for id in ids {
            state.by_id.entry(*id).or_insert(Level {
                since,
                had_probes: true,
                is_used: false,
            });
        }
    }

    /// Ends a change of classes. `unchanged` are the methods whose classes the JVM did not change. They are no longer
    /// marked, unless code of them with fewer probes may run.
    pub(super) fn end_change<'i>(&self, unchanged: impl Iterator<Item = &'i u32>) {
        let mut state = lock(&self.state);
        state.changing = None;
        for id in unchanged {
            if state.by_id.get(id).is_some_and(|level| !level.is_used) {
                state.by_id.remove(id);
            }
        }
        for level in state.by_id.values_mut() {
            level.is_used = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SINCE: Duration = Duration::from_secs(1);

    fn marked(levels: &Levels) -> Vec<u32> {
        levels.lowered().into_keys().collect()
    }

    #[test]
    fn a_method_that_was_not_changed_keeps_its_probes() {
        let levels = Levels::default();
        levels.mark([1, 2].iter(), SINCE);
        assert!(
            levels.is_lowered(1),
            "the method is marked, although the JVM may still refuse the code"
        );
        levels.end_change([1].iter());
        assert_eq!(marked(&levels), [2]);
    }

    #[test]
    fn a_method_that_counts_already_goes_on_counting() {
        let levels = Levels::default();
        levels.mark([1, 2, 3].iter(), SINCE);
        thread::scope(|scope| {
            let loads = scope.spawn(|| levels.is_lowered(2));
            assert!(loads.join().expect("the thread did not panic"));
        });
        levels.end_change([1, 2].iter());
        assert_eq!(marked(&levels), [2, 3]);
        levels.mark([3].iter(), 2 * SINCE);
        levels.end_change([3].iter());
        assert_eq!(marked(&levels), [2, 3]);
        assert!(levels.lowered().values().all(|it| it.since == SINCE));
    }
}
