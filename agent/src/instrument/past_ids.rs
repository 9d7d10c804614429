//! The ids that earlier agents in this JVM have given to methods and allocation sites.
//!
//! Probes of an earlier agent may still run: in calls that were under way when the agent left, in hidden classes, and
//! in classes that the JVM refused to change back. So an id must never be given to another method. A class gets the
//! same ids from each agent, because the tracker has arrays with an element for each id. These arrays should stay
//! short, however often an agent attaches and leaves.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::copies::{Hashers, WideHash};
use crate::locks::lock;

/// If the next id is greater than this, new classes get no ids. So all ids are positive Java `int`s.
const LAST: u32 = 1 << 30;

/// The id of a method, the offset of the allocating instruction, and the allocated type. The type is part of the key
/// because another agent may have changed the code.
pub(super) type SiteKey = (u32, u16, Arc<str>);

/// The ids of the agents that have left; `None` if there are none.
static PAST: Mutex<Option<PastIds>> = Mutex::new(None);

/// The ids of earlier agents that the present agent has not used yet, and the next new id.
#[derive(Clone, Default)]
pub(super) struct PastIds {
    /// The hashers that made the hashes in `first_ids`.
    pub(super) hashers: Hashers,
    /// The first ids of classes by the hashes in [`Copies::by_hash`](super::copies::Copies::by_hash). A class with
    /// copies in loaders of different kinds has several first ids.
    first_ids: HashMap<WideHash, Vec<u32>>,
    sites: HashMap<SiteKey, u32>,
    next: u32,
}

impl PastIds {
    /// Returns a copy of the ids of the agents that have left. The original is kept, because the present agent may fail
    /// to begin.
    pub(super) fn copied() -> PastIds {
        lock(&PAST).clone().unwrap_or_default()
    }

    /// Keeps the ids for the next agent.
    pub(super) fn keep(self) {
        *lock(&PAST) = Some(self);
    }

    /// Returns whether there are no ids for new classes any more.
    pub(super) fn are_used_up(&self) -> bool {
        self.next > LAST
    }

    /// Returns the first of the ids for a class with `methods` methods. `hash` is called only if there were earlier
    /// agents.
    pub(super) fn first_id(&mut self, methods: u32, hash: impl FnOnce() -> WideHash) -> u32 {
        if !self.first_ids.is_empty()
            && let Some(ids) = self.first_ids.get_mut(&hash())
            && !ids.is_empty()
        {
            return ids.remove(0);
        }
        self.new_ids(methods)
    }

    /// Returns the id for an allocation site: the one that an earlier agent gave, or a new one.
    pub(super) fn site(&mut self, key: &SiteKey) -> u32 {
        match self.sites.get(key) {
            Some(id) => *id,
            None => self.new_ids(1),
        }
    }

    fn new_ids(&mut self, count: u32) -> u32 {
        let first = self.next;
        self.next = first.saturating_add(count);
        first
    }

    /// Adds the ids that the leaving agent has given.
    pub(super) fn add(
        &mut self,
        classes: impl Iterator<Item = (WideHash, u32)>,
        sites: impl Iterator<Item = (SiteKey, u32)>,
    ) {
        for (hash, first_id) in classes {
            self.first_ids.entry(hash).or_default().push(first_id);
        }
        self.sites.extend(sites);
    }
}
