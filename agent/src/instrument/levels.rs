//! Methods whose calls are only counted from some moment on.
//!
//! Such a method had probes at its entry and its exits. Its class is retransformed, and it then has one probe at its entry,
//! which counts. A call under way runs on in the old code, which has the exit probe; a call that begins later has neither.
//! So each entry still has its exit. A method that is only counted stays so.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::locks::lock;

/// The methods that are only counted.
#[derive(Default)]
pub(crate) struct Levels {
    /// By id, the time since the program's start at which this began.
    since: Mutex<HashMap<u32, Duration>>,
}

impl Levels {
    /// Returns whether a method of this id gets no probe but the one that counts.
    pub(super) fn is_only_counted(&self, id: u32) -> bool {
        lock(&self.since).contains_key(&id)
    }

    /// The methods that are only counted, with the time at which this began, in the order of their ids.
    pub(crate) fn only_counted(&self) -> Vec<(u32, Duration)> {
        let since = lock(&self.since);
        let mut methods: Vec<_> = since.iter().map(|(id, since)| (*id, *since)).collect();
        drop(since);
        methods.sort_unstable();
        methods
    }

    /// Has methods only counted from this time on, as soon as their classes are instrumented again.
    pub(super) fn mark<'i>(&self, ids: impl Iterator<Item = &'i u32>, since: Duration) {
        lock(&self.since).extend(ids.map(|id| (*id, since)));
    }

    /// Takes marks back: the classes of these methods were not changed.
    pub(super) fn unmark<'i>(&self, ids: impl Iterator<Item = &'i u32>) {
        let mut since = lock(&self.since);
        for id in ids {
            since.remove(id);
        }
    }
}
