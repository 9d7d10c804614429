//! All objects of the heap, followed until they are dead, in the model of a heap that profiles use.
//!
//! The ids of the model are the tags of the objects. Its arenas are ages: objects made between the
//! same two collections are in one arena. So the model's sums show how much of each age is alive.

use loadhook_profile::gc_events::{
    ArenaId, ClassId, Event, HeapModel, ObjectGroup, ObjectId, SiteId,
};

use super::estimate::Estimate;
use super::owners::Site;
use super::sampled_objects::LiveRecord;
use crate::frames::numbers::NumbersOfNumbers;

/// Limits of the tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObjectLimits {
    /// Number of objects.
    pub(super) objects: usize,
    /// Number of pairs of a thread and a node of its calls.
    pub(super) sites: usize,
}

impl ObjectLimits {
    /// The default limits. The tables take about 300 MB, and the JVM more for the tags. This number
    /// of objects fills hash tables of 2^23 entries.
    pub(super) const DEFAULT: ObjectLimits = ObjectLimits {
        objects: 7 << 20,
        sites: 1 << 19,
    };
}

/// The objects that are not known to be dead.
#[derive(Debug)]
pub(super) struct ExactObjects {
    limits: ObjectLimits,
    heap: HeapModel,
    /// The sites of the model: the number of an owner, and a node of its calls.
    sites: NumbersOfNumbers<(u32, Option<u32>)>,
    /// The last tag. No tag is reused.
    tag: u64,
}

impl ExactObjects {
    pub(super) fn new(limits: ObjectLimits) -> Self {
        ExactObjects {
            limits,
            heap: HeapModel::of_live_objects(),
            sites: NumbersOfNumbers::default(),
            tag: 0,
        }
    }

    /// Adds an object and returns its tag; `None` if there is no room.
    pub(super) fn put(&mut self, record: LiveRecord) -> Option<i64> {
        if self.heap.objects() >= self.limits.objects {
            return None;
        }
        let site = (record.owner, record.site.node);
        let group = ObjectGroup {
            arena: ArenaId(record.born.cast_signed()),
            class: ClassId(record.site.type_number),
            site: SiteId(self.sites.number(site, self.limits.sites)?),
        };
        if self.heap.objects_in(group.arena).is_none() {
            let arena = group.arena;
            self.heap.apply(Event::NewArena { arena }).ok()?;
        }
        self.tag += 1;
        let event = Event::NewObject {
            group,
            object: ObjectId(self.tag),
            size: record.estimate.bytes as u64,
        };
        self.heap.apply(event).ok()?;
        Some(self.tag.cast_signed())
    }

    pub(super) fn len(&self) -> usize {
        self.heap.objects()
    }

    /// The maximum number of objects.
    pub(super) fn most(&self) -> usize {
        self.limits.objects
    }

    pub(super) fn tags(&self) -> impl Iterator<Item = i64> {
        self.heap.ids().map(|ObjectId(tag)| tag.cast_signed())
    }

    /// Removes the object of this tag, which is dead, and returns its owner.
    pub(super) fn take(&mut self, tag: i64) -> Option<u32> {
        let object = ObjectId(tag.cast_unsigned());
        let ObjectGroup { arena, site, .. } = self.heap.group(object)?;
        self.heap.apply(Event::DeleteObject { object }).ok()?;
        if self.heap.objects_in(arena) == Some(0) {
            self.heap.apply(Event::DeleteArena { arena }).ok()?;
        }
        let (owner, _) = self.sites.all().get(site.0 as usize)?;
        Some(*owner)
    }

    /// The live objects, summed by owner, site and age.
    pub(super) fn all(&self) -> Vec<LiveRecord> {
        let sums = self.heap.amounts_by(|group| group);
        let records = sums.into_iter().filter_map(|(group, sums)| {
            let (owner, node) = *self.sites.all().get(group.site.0 as usize)?;
            Some(LiveRecord {
                owner,
                site: Site {
                    node,
                    type_number: group.class.0,
                },
                born: group.arena.0.cast_unsigned(),
                estimate: Estimate::exactly(sums.live.objects, sums.live.bytes),
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

    #[test]
    fn live_objects_are_summed_by_age() {
        let mut objects = ExactObjects::new(ObjectLimits::DEFAULT);
        let mut put = |record| objects.put(record).expect("the table has room");
        let tags: Vec<i64> = [16, 24, 32, 40]
            .map(|size| put(record(1, 2, 3, size)))
            .into();
        put(record(1, 2, 4, 100));
        put(record(7, 2, 4, 1000));
        assert_eq!(objects.take(tags[1]), Some(1));
        for wrong in [tags[1], 0, -1, 99, i64::MIN, i64::MAX] {
            assert_eq!(objects.take(wrong), None, "{wrong}");
        }
        let sums = |objects: &ExactObjects| {
            let all = objects.all().into_iter();
            all.map(|r| (r.owner, r.born, r.estimate.objects, r.estimate.bytes))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            sums(&objects),
            [(1, 3, 3.0, 88.0), (1, 4, 1.0, 100.0), (7, 4, 1.0, 1000.0)]
        );
        for at in [0, 2, 3] {
            objects.take(tags[at]);
        }
        assert_eq!(sums(&objects).len(), 2, "nothing is left of that age");
    }

    #[test]
    fn dead_objects_take_no_room() {
        let mut objects = ExactObjects::new(ObjectLimits {
            objects: 2,
            sites: 2,
        });
        for born in 0..1000 {
            let tag = objects.put(record(born % 2, born, born, 16));
            let tag = tag.expect("the table has room");
            let other = objects
                .put(record(1, 5, born, 16))
                .expect("the table has room");
            assert_eq!(objects.put(record(1, 5, born, 16)), None, "full");
            assert_eq!(objects.take(tag), Some(born % 2));
            assert_eq!(
                objects.put(record(2, 5, born, 16)),
                None,
                "there is no room for a third site"
            );
            assert_eq!(objects.take(other), Some(1));
        }
        assert_eq!(objects.all(), []);
        let arenas = (0..1000).filter(|at| objects.heap.objects_in(ArenaId(*at)).is_some());
        assert_eq!(arenas.count(), 0);
    }
}
