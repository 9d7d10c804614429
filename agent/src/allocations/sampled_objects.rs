//! Sampled objects that are followed until they are dead.

use super::estimate::Estimate;
use super::owners::Site;

/// The maximum number of samples that are followed at a time. Their records take some 60 MB.
pub(super) const MOST: usize = 1 << 20;

/// An object that is not known to be dead, or several objects with the same properties.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LiveRecord {
    /// The number of the owner that made the object.
    pub(super) owner: u32,
    pub(super) site: Site,
    /// Number of collections that had ended when the object was made.
    pub(super) born: u32,
    /// The number of objects that it stands for.
    pub(super) estimate: Estimate,
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    Taken(LiveRecord),
    /// A free slot, and the index of the next free slot.
    Free(Option<u32>),
}

/// The sampled objects. The tag of an object is the index of its record plus 1.
#[derive(Debug, Default)]
pub(super) struct SampledObjects {
    slots: Vec<Slot>,
    free: Option<u32>,
    taken: usize,
}

impl SampledObjects {
    /// The number of objects.
    pub(super) fn len(&self) -> usize {
        self.taken
    }

    /// Adds an object and returns its tag, which is not 0. `None` if there is no room.
    pub(super) fn put(&mut self, record: LiveRecord) -> Option<i64> {
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

    /// Removes the object of this tag, which is dead.
    pub(super) fn take(&mut self, tag: i64) -> Option<LiveRecord> {
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

    /// The tags of all objects.
    pub(super) fn tags(&self) -> impl Iterator<Item = i64> {
        let slots = (1..).zip(&self.slots);
        slots.filter_map(|(tag, slot)| matches!(slot, Slot::Taken(_)).then_some(tag))
    }

    /// The records of all objects.
    pub(super) fn all(&self) -> impl Iterator<Item = LiveRecord> {
        self.slots.iter().filter_map(|slot| match slot {
            Slot::Taken(record) => Some(*record),
            Slot::Free(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(size: u64) -> LiveRecord {
        LiveRecord {
            owner: 1,
            site: Site {
                node: None,
                type_number: 0,
            },
            born: 0,
            estimate: Estimate::of(size + 16, 16),
        }
    }

    #[test]
    fn tags_are_reused() {
        let mut records = SampledObjects::default();
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
