//! All objects that are alive, as the model of a heap has them: their ids are
//! their tags, and the arenas are ages. What was made between two collections
//! is in one arena, so that the model's sums tell what each age has.

use loadhook_profile::gc_events::{ArenaId, ClassId, Event, Heap, ObjectId, Place, SiteId};

use super::estimate::Estimate;
use super::live_objects::Record;
use super::stacks::Numbers;
use super::threads::Site;

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Objects alive at a time.
    pub(super) objects: usize,
    /// Threads and their places, together.
    pub(super) sites: usize,
}

impl Limits {
    /// Some 300 MB, and more of the VM's for the tags. The objects are as
    /// many as fill tables of 2^23 entries.
    pub(super) const DEFAULT: Limits = Limits {
        objects: 7 << 20,
        sites: 1 << 19,
    };
}

/// The objects that are alive.
#[derive(Debug)]
pub(super) struct Objects {
    limits: Limits,
    heap: Heap,
    /// What the model's sites are: a thread, and a node of its calls.
    sites: Numbers<(u32, Option<u32>)>,
    /// No tag is used again.
    tag: u64,
}

impl Objects {
    pub(super) fn new(limits: Limits) -> Self {
        Objects {
            limits,
            heap: Heap::of_the_living(),
            sites: Numbers::default(),
            tag: 0,
        }
    }

    /// The tag of an object; none if there is no room.
    pub(super) fn put(&mut self, record: Record) -> Option<i64> {
        if self.heap.objects() >= self.limits.objects {
            return None;
        }
        let site = (record.thread, record.site.node);
        let place = Place {
            arena: ArenaId(record.born.cast_signed()),
            class: ClassId(record.site.type_number),
            site: SiteId(self.sites.number(site, self.limits.sites)?),
        };
        if self.heap.objects_in(place.arena).is_none() {
            let arena = place.arena;
            self.heap.apply(Event::NewArena { arena }).ok()?;
        }
        self.tag += 1;
        let event = Event::NewObject {
            place,
            object: ObjectId(self.tag),
            size: record.estimate.bytes as u64,
        };
        self.heap.apply(event).ok()?;
        Some(self.tag.cast_signed())
    }

    pub(super) fn len(&self) -> usize {
        self.heap.objects()
    }

    /// How many there is room for.
    pub(super) fn most(&self) -> usize {
        self.limits.objects
    }

    pub(super) fn tags(&self) -> impl Iterator<Item = i64> {
        self.heap.ids().map(|ObjectId(tag)| tag.cast_signed())
    }

    /// The object of this tag is gone; the thread that made it.
    pub(super) fn take(&mut self, tag: i64) -> Option<u32> {
        let object = ObjectId(tag.cast_unsigned());
        let Place { arena, site, .. } = self.heap.place(object)?;
        self.heap.apply(Event::DeleteObject { object }).ok()?;
        if self.heap.objects_in(arena) == Some(0) {
            self.heap.apply(Event::DeleteArena { arena }).ok()?;
        }
        let (thread, _) = self.sites.all().get(site.0 as usize)?;
        Some(*thread)
    }

    /// What is alive, by thread, site and age.
    pub(super) fn all(&self) -> Vec<Record> {
        let sums = self.heap.amounts_by(|place| place);
        let records = sums.into_iter().filter_map(|(place, sums)| {
            let (thread, node) = *self.sites.all().get(place.site.0 as usize)?;
            Some(Record {
                thread,
                site: Site {
                    node,
                    type_number: place.class.0,
                },
                born: place.arena.0.cast_unsigned(),
                estimate: Estimate::exactly(sums.live.objects, sums.live.bytes),
            })
        });
        records.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(thread: u32, type_number: u32, born: u32, size: u64) -> Record {
        Record {
            thread,
            site: Site {
                node: Some(9),
                type_number,
            },
            born,
            estimate: Estimate::exactly(1, size),
        }
    }

    #[test]
    fn what_is_alive_is_summed_by_age() {
        let mut objects = Objects::new(Limits::DEFAULT);
        let mut put = |record| objects.put(record).expect("there is room");
        let tags: Vec<i64> = [16, 24, 32, 40]
            .map(|size| put(record(1, 2, 3, size)))
            .into();
        put(record(1, 2, 4, 100));
        put(record(7, 2, 4, 1000));
        assert_eq!(objects.take(tags[1]), Some(1));
        for wrong in [tags[1], 0, -1, 99, i64::MIN, i64::MAX] {
            assert_eq!(objects.take(wrong), None, "{wrong}");
        }
        let sums = |objects: &Objects| {
            let all = objects.all().into_iter();
            all.map(|r| (r.thread, r.born, r.estimate.objects, r.estimate.bytes))
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

    /// Whatever comes and goes, as much is kept as is alive.
    #[test]
    fn the_dead_take_no_room() {
        let mut objects = Objects::new(Limits {
            objects: 2,
            sites: 2,
        });
        for born in 0..1000 {
            let tag = objects.put(record(born % 2, born, born, 16));
            let tag = tag.expect("there is room");
            let other = objects.put(record(1, 5, born, 16)).expect("there is room");
            assert_eq!(objects.put(record(1, 5, born, 16)), None, "full");
            assert_eq!(objects.take(tag), Some(born % 2));
            assert_eq!(objects.put(record(2, 5, born, 16)), None, "a third place");
            assert_eq!(objects.take(other), Some(1));
        }
        assert_eq!(objects.all(), []);
        let arenas = (0..1000).filter(|at| objects.heap.objects_in(ArenaId(*at)).is_some());
        assert_eq!(arenas.count(), 0);
    }
}
