//! All objects of the heap, followed until they are dead.
//!
//! Each object takes 24 bytes in the tables. Objects are added far more often than a snapshot is taken, so they are
//! summed only for snapshots.

use loadhook_profile::NumberMap;

use super::estimate::Estimate;
use super::owners::Site;
use super::weak_records::{LiveRecord, WeakRecords};
use crate::frames::numbers::NumbersOfNumbers;
use crate::jvm::reference::Weak;

/// Limits of the tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObjectLimits {
    /// Number of objects.
    pub(super) objects: usize,
    /// Number of pairs of a thread and a site.
    pub(super) sites: usize,
}

impl ObjectLimits {
    /// The default limits. Full tables take about 250 MB. The JVM needs further memory for the weak references.
    pub(super) const DEFAULT: ObjectLimits = ObjectLimits {
        objects: 7 << 20,
        sites: 1 << 19,
    };
}

/// A followed object. [`WeakRecords`] keeps the weak reference to the object beside this record.
#[derive(Clone, Copy, Debug)]
struct Object {
    size: u64,
    /// Number of collections that had ended when the object was made.
    born: u32,
    /// The number of the object's site in [`ExactObjects::sites`].
    site: u32,
}

/// All objects except those that a liveness scan has found dead.
#[derive(Debug)]
pub(super) struct ExactObjects {
    limits: ObjectLimits,
    objects: WeakRecords<Object>,
    /// The numbers of pairs. A pair has the number of an owner, and a site.
    sites: NumbersOfNumbers<(u32, Site)>,
}

impl ExactObjects {
    pub(super) fn new(limits: ObjectLimits) -> Self {
        ExactObjects {
            limits,
            objects: WeakRecords::default(),
            sites: NumbersOfNumbers::default(),
        }
    }

    /// Adds an object. Returns whether there was room.
    pub(super) fn put(&mut self, weak: Weak, record: LiveRecord) -> bool {
        if self.objects.len() >= self.limits.objects {
            return false;
        }
        let site = (record.owner, record.site);
        let Some(site) = self.sites.number(site, self.limits.sites) else {
            return false;
        };
        let object = Object {
            size: record.estimate.bytes as u64,
            born: record.born,
            site,
        };
        self.objects.put(weak, object);
        true
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Returns the maximum number of objects.
    pub(super) fn most(&self) -> usize {
        self.limits.objects
    }

    pub(super) fn references(&self) -> Vec<Weak> {
        self.objects.references()
    }

    /// Removes the objects that are gone, as [`WeakRecords::bury`] does. Calls `bury` with the owner of each removed
    /// object.
    pub(super) fn bury(&mut self, gone: &[bool], mut bury: impl FnMut(u32)) {
        let sites = self.sites.all();
        self.objects.bury(gone, |object| {
            if let Some((owner, _)) = sites.get(object.site as usize) {
                bury(*owner);
            }
        });
    }

    /// Returns one record for all objects that have the same owner, site and age, with their number and bytes.
    pub(super) fn all(&self) -> Vec<LiveRecord> {
        let mut sums: NumberMap<(u32, u32), (u64, u64)> = NumberMap::default();
        for object in self.objects.all() {
            let (objects, bytes) = sums.entry((object.site, object.born)).or_default();
            *objects += 1;
            *bytes += object.size;
        }
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_unstable();
        let records = sums
            .into_iter()
            .filter_map(|((site, born), (objects, bytes))| {
                let (owner, site) = *self.sites.all().get(site as usize)?;
                Some(LiveRecord {
                    owner,
                    site,
                    born,
                    estimate: Estimate::exactly(objects, bytes),
                })
            });
        records.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(owner: u32, type_number: u32, born: u32, size: u64) -> LiveRecord {
        LiveRecord {
            owner,
            site: Site {
                node: Some(9),
                type_number,
            },
            born,
            estimate: Estimate::exactly(1, size),
        }
    }

    fn weak() -> Weak {
        Weak::unknown(1)
    }

    #[test]
    fn live_objects_are_summed_by_age() {
        let mut objects = ExactObjects::new(ObjectLimits::DEFAULT);
        for (owner, born, size) in [
            (1, 3, 16),
            (1, 3, 24),
            (1, 3, 32),
            (1, 3, 40),
            (1, 4, 100),
            (7, 4, 1000),
        ] {
            assert!(objects.put(weak(), record(owner, 2, born, size)));
        }
        let mut dead = Vec::new();
        objects.bury(&[false, true], |owner| dead.push(owner));
        assert_eq!(dead, [1]);
        let sums = |objects: &ExactObjects| {
            let all = objects.all().into_iter();
            all.map(|r| (r.owner, r.born, r.estimate.objects, r.estimate.bytes))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            sums(&objects),
            [(1, 3, 3.0, 88.0), (1, 4, 1.0, 100.0), (7, 4, 1.0, 1000.0)]
        );
        objects.bury(&[true, true, true], |_| ());
        assert_eq!(sums(&objects).len(), 2, "nothing is left of that age");
    }

    #[test]
    fn dead_objects_take_no_room() {
        let mut objects = ExactObjects::new(ObjectLimits {
            objects: 2,
            sites: 2,
        });
        for born in 0..1000 {
            assert!(objects.put(weak(), record(born % 2, 5, born, 16)));
            assert!(objects.put(weak(), record(1, 5, born, 16)));
            assert!(!objects.put(weak(), record(1, 5, born, 16)), "full");
            let mut dead = Vec::new();
            objects.bury(&[true, false], |owner| dead.push(owner));
            assert_eq!(dead, [born % 2]);
            assert!(
                !objects.put(weak(), record(2, 5, born, 16)),
                "there is no room for a third site"
            );
            objects.bury(&[true], |owner| dead.push(owner));
            assert_eq!(dead, [born % 2, 1]);
        }
        assert_eq!(objects.all(), []);
    }
}
