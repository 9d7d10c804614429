//! Which objects are alive, by their tags.

use super::estimate::Estimate;
use super::exact_objects::Objects;
use super::threads::Site;

/// Samples alive at a time that are followed: some 60 MB of records.
const MOST: usize = 1 << 20;

/// An object that is alive, as far as is known, or several that differ in
/// nothing else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Record {
    /// The thread that made it.
    pub(super) thread: u32,
    pub(super) site: Site,
    /// The collections that had ended before.
    pub(super) born: u32,
    /// What it stands for.
    pub(super) estimate: Estimate,
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    Taken(Record),
    /// The next free one.
    Free(Option<u32>),
}

/// What is followed.
#[derive(Debug)]
pub(super) enum Followed {
    Nothing,
    Samples(Records),
    All(Box<Objects>),
}

impl Followed {
    /// The tag of an object; `None` if there is no room for it.
    pub(super) fn put(&mut self, record: Record) -> Option<i64> {
        match self {
            Followed::Nothing => None,
            Followed::Samples(records) => records.put(record),
            Followed::All(objects) => objects.put(record),
        }
    }

    /// How many objects.
    pub(super) fn len(&self) -> usize {
        match self {
            Followed::Nothing => 0,
            Followed::Samples(records) => records.taken,
            Followed::All(objects) => objects.len(),
        }
    }

    /// How many objects there is room for.
    pub(super) fn most(&self) -> usize {
        match self {
            Followed::Nothing => 0,
            Followed::Samples(_) => MOST,
            Followed::All(objects) => objects.most(),
        }
    }

    /// The tags of all.
    pub(super) fn tags(&self) -> Vec<i64> {
        match self {
            Followed::Nothing => Vec::new(),
            Followed::Samples(records) => records.tags().collect(),
            Followed::All(objects) => objects.tags().collect(),
        }
    }

    /// The object of this tag is gone; the thread that made it.
    pub(super) fn take(&mut self, tag: i64) -> Option<u32> {
        match self {
            Followed::Nothing => None,
            Followed::Samples(records) => Some(records.take(tag)?.thread),
            Followed::All(objects) => objects.take(tag),
        }
    }

    pub(super) fn all(&self) -> Vec<Record> {
        match self {
            Followed::Nothing => Vec::new(),
            Followed::Samples(records) => records.all().collect(),
            Followed::All(objects) => objects.all(),
        }
    }
}

/// The samples that are alive: each one's tag is its record's number.
#[derive(Debug, Default)]
pub(super) struct Records {
    slots: Vec<Slot>,
    free: Option<u32>,
    taken: usize,
}

impl Records {
    /// The tag of a new record; 0 is none.
    fn put(&mut self, record: Record) -> Option<i64> {
        let at = match self.free {
            Some(at) => {
                let slot = &mut self.slots[at as usize];
                if let Slot::Free(next) = *slot {
                    self.free = next;
                }
                *slot = Slot::Taken(record);
                at
            }
            None if self.slots.len() < MOST => {
                self.slots.push(Slot::Taken(record));
                self.slots.len() as u32 - 1
            }
            None => return None,
        };
        self.taken += 1;
        Some(i64::from(at) + 1)
    }

    /// The object of this tag is gone.
    fn take(&mut self, tag: i64) -> Option<Record> {
        let at = u32::try_from(tag.checked_sub(1)?).ok()?;
        let slot = self.slots.get_mut(at as usize)?;
        let Slot::Taken(record) = *slot else {
            return None;
        };
        *slot = Slot::Free(self.free);
        self.free = Some(at);
        self.taken -= 1;
        Some(record)
    }

    fn tags(&self) -> impl Iterator<Item = i64> {
        let slots = (1..).zip(&self.slots);
        slots.filter_map(|(tag, slot)| matches!(slot, Slot::Taken(_)).then_some(tag))
    }

    fn all(&self) -> impl Iterator<Item = Record> {
        self.slots.iter().filter_map(|slot| match slot {
            Slot::Taken(record) => Some(*record),
            Slot::Free(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(size: u64) -> Record {
        Record {
            thread: 1,
            site: Site {
                node: None,
                type_number: 0,
            },
            born: 0,
            estimate: Estimate::of(size + 16, 16),
        }
    }

    #[test]
    fn tags_are_used_again() {
        let mut records = Records::default();
        let tags: Vec<i64> = (0..10)
            .filter_map(|size| records.put(record(size)))
            .collect();
        assert_eq!(tags, (1..11).collect::<Vec<i64>>());
        assert_eq!(records.take(3), Some(record(2)));
        assert_eq!(records.take(7), Some(record(6)));
        for wrong in [3, 0, -1, 11, i64::MIN, i64::MAX] {
            assert_eq!(records.take(wrong), None, "{wrong}");
        }
        assert_eq!(records.all().count(), 8);
        assert_eq!(records.put(record(20)), Some(7));
        assert_eq!(records.put(record(21)), Some(3));
        assert_eq!(records.put(record(22)), Some(11));
        assert_eq!(records.all().count(), 11);
    }
}
