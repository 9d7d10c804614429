//! Looking which of the followed objects are alive.

use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use super::{OWN, Own, Samples, State};
use crate::agent::Agent;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;

/// So many followed objects are looked through for those that are gone; later
/// twice as many as were left.
const FIRST_CROWD: usize = 1 << 19;

/// The longest wait for another thread that looks: a debugger may have
/// suspended it.
const LONGEST_LOOK: Duration = Duration::from_secs(10);

impl Samples {
    pub(super) fn collects_at_once(&self) -> bool {
        self.collects_at_once.get() == Some(&true)
    }

    pub(super) fn mark(&self, jni: Jni<'_>, now: u32) {
        if let Some(object) = self.object.get() {
            let own = OWN.get();
            OWN.set(Own {
                is_marking: true,
                ..own
            });
            self.marks.make(jni, *object, now);
            OWN.set(own);
        }
    }

    /// Has a collector with threads of its own tell the dead from the living,
    /// as long as it can.
    pub(super) fn collect_marked(&self, jvmti: Jvmti, jni: Jni<'_>) {
        // What is younger than this mark nobody knows of.
        let now = self.collections.fetch_add(1, Ordering::Relaxed) + 1;
        self.marked.fetch_max(now, Ordering::Relaxed);
        self.mark(jni, now);
        let _ = jvmti.collect_garbage();
    }

    /// The same where the VM is about to end. A heap that is full but for garbage
    /// has room for the mark behind a collection; in one that is full without,
    /// the program would end by an error of ours.
    pub(super) fn collect_last(&self, agent: &Agent, jni: Jni<'_>) {
        let tracker = agent.tracker.get();
        let has_room = || tracker.is_some_and(|tracker| tracker.heap.can_spare(jni));
        if !has_room() {
            let _ = agent.jvmti.collect_garbage();
        }
        if has_room() {
            self.collect_marked(agent.jvmti, jni);
        }
    }

    /// Forgets the objects that the heap no longer has.
    ///
    /// `ObjectFree` would tell, but from JDK 17 on the VM posts it from a thread
    /// that a collection stops in the midst, and waits for that thread at its
    /// end, and whenever the event is enabled, in a way that no collection can
    /// stop: then all wait for each other, for ever.
    ///
    /// Whether the VM has shown what it has.
    pub(super) fn look(&self, jvmti: Jvmti, _alone: &MutexGuard<'_, ()>) -> bool {
        let now = self.collections.load(Ordering::Relaxed);
        let (mut gone, mut unfinished) = {
            let state = self.lock();
            (state.followed.tags(), state.unfinished.clone())
        };
        let Ok(mut living) = jvmti.tags() else {
            return false;
        };
        unfinished.sort_unstable();
        living.sort_unstable();
        let is_there = |tag: &i64| {
            living
                .binary_search(tag)
                .or_else(|_| unfinished.binary_search(tag))
        };
        gone.retain(|tag| is_there(tag).is_err());
        let mut state = self.lock();
        let State {
            followed,
            owners,
            crowd,
            ..
        } = &mut *state;
        for tag in gone {
            if let Some(thread) = followed.take(tag) {
                owners.release(thread);
            }
        }
        crowd.was_looked_at(followed.len(), followed.most(), now);
        true
    }

    /// The right to look, unless another thread does.
    pub(super) fn alone(&self) -> Option<MutexGuard<'_, ()>> {
        match self.looking.try_lock() {
            Ok(alone) => Some(alone),
            Err(TryLockError::Poisoned(alone)) => Some(alone.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Looks, and waits for another that does, but not for ever, nor where it
    /// does not go on; whether it did.
    pub(super) fn look_in_time(&self, jvmti: Jvmti, goes_on: impl Fn() -> bool) -> bool {
        let end = Instant::now() + LONGEST_LOOK;
        loop {
            if let Some(alone) = self.alone() {
                return self.look(jvmti, &alone);
            }
            if Instant::now() >= end || !goes_on() {
                return false;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// `GarbageCollectionFinish`: the program stands still.
    pub(crate) fn collection_ends(&self) {
        self.collections.fetch_add(1, Ordering::Relaxed);
    }
}

/// When so much is followed that it is worth looking what is gone.
#[derive(Debug)]
pub(super) struct Crowd {
    /// As many objects are a crowd.
    objects: usize,
    /// The collections after which it is.
    collections: u32,
    /// Collections between a look that found little gone and the next.
    rest: u32,
}

impl Default for Crowd {
    fn default() -> Self {
        Crowd {
            objects: FIRST_CROWD,
            collections: 1,
            rest: 1,
        }
    }
}

impl Crowd {
    pub(super) fn is_worth_a_look(&self, followed: usize, collections: u32) -> bool {
        followed >= self.objects && collections >= self.collections
    }

    /// After `now` collections so many were left, of `most` that there is room
    /// for. Where most of them are alive the next look finds little: looks get
    /// rarer, so that all together take a part of the time of the collections.
    fn was_looked_at(&mut self, left: usize, most: usize, now: u32) {
        let twice = FIRST_CROWD.max(2 * left);
        self.objects = twice.min(most);
        self.rest = match twice > most {
            true => self.rest.saturating_mul(2),
            false => 1,
        };
        self.collections = now.saturating_add(self.rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_get_rarer_where_most_are_alive() {
        let most = 7 << 20;
        let mut crowd = Crowd::default();
        assert!(
            !crowd.is_worth_a_look(FIRST_CROWD, 0),
            "nothing is gone before a collection"
        );
        assert!(crowd.is_worth_a_look(FIRST_CROWD, 1));
        // All that there is room for is a crowd, however many are alive.
        for (left, rest) in [
            (4 << 20, 2),
            (6 << 20, 4),
            (most, 8),
            (3 << 20, 1),
            (most, 2),
        ] {
            crowd.was_looked_at(left, most, 100);
            let followed = (2 * left).min(most);
            assert!(!crowd.is_worth_a_look(followed, 99 + rest), "{left}");
            assert!(crowd.is_worth_a_look(followed, 100 + rest), "{left}");
            assert!(!crowd.is_worth_a_look(followed - 1, u32::MAX), "{left}");
        }
    }
}
