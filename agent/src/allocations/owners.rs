//! Owners of samples: a live thread, all virtual threads together, or the ended threads of one name.

use std::sync::Arc;

use loadhook_profile::{NumberMap, ThreadKind};

use super::estimate::Estimate;
use crate::threads::groups::{Groups, VIRTUAL_THREADS};

/// The number of the owner for virtual threads.
pub(super) const VIRTUAL: u32 = 0;

/// A place in the code, with its callers, and the type that is allocated there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Site {
    /// Index of a node of the call tree; `None` if there was no room for it.
    pub(super) node: Option<u32>,
    /// The number of the type.
    pub(super) type_number: u32,
}

/// The owner of samples: a thread, or several threads.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    pub(super) name: Arc<str>,
    pub(super) id: Option<u64>,
    pub(super) kind: ThreadKind,
    pub(super) sites: NumberMap<Site, Estimate>,
    /// Number of records of live objects that refer to this owner.
    records: u32,
    /// The number of the group into which this owner was merged; `None` if it was not merged.
    part_of: Option<u32>,
}

impl Owner {
    fn new(name: Arc<str>, id: Option<u64>, kind: ThreadKind) -> Self {
        Owner {
            name,
            id,
            kind,
            sites: NumberMap::default(),
            records: 0,
            part_of: None,
        }
    }
}

/// The owners of samples.
#[derive(Clone, Debug)]
pub(super) struct Owners {
    all: Vec<Owner>,
    free: Vec<u32>,
    groups: Groups,
    /// Number of sites of all owners together.
    sites: usize,
}

impl Owners {
    pub(super) fn new() -> Self {
        let virtual_threads = Owner::new(VIRTUAL_THREADS.into(), None, ThreadKind::Virtual);
        Owners {
            all: vec![virtual_threads],
            free: Vec::new(),
            groups: Groups::default(),
            sites: 0,
        }
    }

    fn put(&mut self, owner: Owner) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.all[at as usize] = owner;
                at
            }
            None => {
                self.all.push(owner);
                self.all.len() as u32 - 1
            }
        }
    }

    /// Adds a thread that has its first sample. Returns the number of the new owner.
    pub(super) fn begin(&mut self, name: Arc<str>, id: Option<u64>) -> u32 {
        self.put(Owner::new(name, id, ThreadKind::Platform))
    }

    /// Adds an estimate to a site of an owner. A new site is made only if all owners together have fewer than `most`
    /// sites. Returns whether there was room.
    pub(super) fn add(&mut self, owner: u32, site: Site, estimate: Estimate, most: usize) -> bool {
        let sites = &mut self.all[owner as usize].sites;
        if let Some(sum) = sites.get_mut(&site) {
            sum.add(estimate);
            return true;
        }
        let has_room = self.sites < most;
        if has_room {
            sites.insert(site, estimate);
            self.sites += 1;
        }
        has_room
    }

    /// Merges the sites of an ended thread into the group of the ended threads whose names differ at most in numbers.
    pub(super) fn end(&mut self, thread: u32, name: &str) {
        let group = self.group(name);
        for (site, estimate) in std::mem::take(&mut self.all[thread as usize].sites) {
            self.sites -= 1;
            self.add(group, site, estimate, usize::MAX);
        }
        self.all[thread as usize].part_of = Some(group);
        self.reuse(thread);
    }

    fn group(&mut self, thread_name: &str) -> u32 {
        let mut groups = std::mem::take(&mut self.groups);
        let group = groups.number(thread_name, |name| {
            self.put(Owner::new(name, None, ThreadKind::Ended))
        });
        self.groups = groups;
        group
    }

    /// Notes that a record of a live object refers to the owner.
    pub(super) fn hold(&mut self, owner: u32) {
        self.all[owner as usize].records += 1;
    }

    /// Notes that a record of a live object no longer refers to the owner.
    pub(super) fn release(&mut self, owner: u32) {
        self.all[owner as usize].records -= 1;
        self.reuse(owner);
    }

    fn reuse(&mut self, number: u32) {
        let owner = &self.all[number as usize];
        if owner.part_of.is_some() && owner.records == 0 {
            self.free.push(number);
        }
    }

    /// Returns the number of the group into which the owner was merged, or the owner's own number if it was not merged.
    pub(super) fn current(&self, owner: u32) -> u32 {
        self.all[owner as usize].part_of.unwrap_or(owner)
    }

    /// Returns the owners that have samples, with their numbers.
    pub(super) fn with_sites(&self) -> impl Iterator<Item = (u32, &Owner)> {
        let all = (0..).zip(&self.all);
        all.filter(|(_, owner)| !owner.sites.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: Site = Site {
        node: Some(3),
        type_number: 4,
    };

    fn one() -> Estimate {
        Estimate::of(1 << 30, 1)
    }

    #[test]
    fn ended_threads_of_a_name_are_a_group() {
        let mut owners = Owners::new();
        for number in 0..1000 {
            let thread = owners.begin(format!("pool-{number}-thread-1").into(), Some(number));
            assert!(owners.add(thread, SITE, one(), 10));
            owners.end(thread, &format!("pool-{number}-thread-1"));
        }
        assert!(owners.all.len() < 5, "numbers of ended threads are reused");
        let found: Vec<_> = owners.with_sites().collect();
        let [(_, group)] = found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(&*group.name, "pool-#-thread-#");
        assert_eq!((group.kind, group.id), (ThreadKind::Ended, None));
        assert_eq!(group.sites[&SITE].objects, 1000.0);
        assert_eq!(owners.sites, 1);
    }

    #[test]
    fn a_number_is_reused_when_its_objects_are_dead() {
        let mut owners = Owners::new();
        let thread = owners.begin("a1".into(), Some(1));
        owners.add(thread, SITE, one(), 10);
        owners.hold(thread);
        owners.end(thread, "a1");
        let next = owners.begin("b".into(), Some(2));
        assert_ne!(next, thread);
        let group = owners.current(thread);
        assert_eq!(&*owners.all[group as usize].name, "a#");
        owners.release(thread);
        assert_eq!(owners.begin("c".into(), Some(3)), thread);
    }

    #[test]
    fn sites_have_a_limit() {
        let mut owners = Owners::new();
        let thread = owners.begin("a".into(), Some(1));
        assert!(owners.add(thread, SITE, one(), 1));
        let other = Site { node: None, ..SITE };
        assert!(!owners.add(thread, other, one(), 1));
        assert!(
            owners.add(thread, SITE, one(), 1),
            "an existing site needs no room"
        );
    }
}
