//! Objects that are followed until they are dead.

use super::exact_objects::ExactObjects;
use super::weak_records::{LiveRecord, WeakRecords};
use crate::jvm::reference::Weak;

/// The maximum number of sampled objects that are followed at a time. Their records take about 70 MB.
const MOST_SAMPLES: usize = 1 << 20;

/// The followed objects.
#[derive(Debug)]
pub(super) enum Followed {
    /// No objects are followed.
    Nothing,
    /// Sampled objects are followed.
    Samples(WeakRecords<LiveRecord>),
    /// All objects are followed.
    All(Box<ExactObjects>),
}

impl Followed {
    /// Adds an object. Returns whether there was room.
    pub(super) fn put(&mut self, weak: Weak, record: LiveRecord) -> bool {
        match self {
            Followed::Nothing => false,
            Followed::Samples(samples) => {
                let has_room = samples.len() < MOST_SAMPLES;
                if has_room {
                    samples.put(weak, record);
                }
                has_room
            }
            Followed::All(objects) => objects.put(weak, record),
        }
    }

    /// Returns the number of followed objects.
    pub(super) fn len(&self) -> usize {
        match self {
            Followed::Nothing => 0,
            Followed::Samples(samples) => samples.len(),
            Followed::All(objects) => objects.len(),
        }
    }

    /// Returns the maximum number of followed objects.
    pub(super) fn most(&self) -> usize {
        match self {
            Followed::Nothing => 0,
            Followed::Samples(_) => MOST_SAMPLES,
            Followed::All(objects) => objects.most(),
        }
    }

    /// Returns the weak references to all followed objects, in the order in which the objects were added.
    pub(super) fn references(&self) -> Vec<Weak> {
        match self {
            Followed::Nothing => Vec::new(),
            Followed::Samples(samples) => samples.references(),
            Followed::All(objects) => objects.references(),
        }
    }

    /// Removes the objects that are gone, as [`WeakRecords::bury`] does. Calls `bury` with the owner of each removed
    /// object.
    pub(super) fn bury(&mut self, gone: &[bool], mut bury: impl FnMut(u32)) {
        match self {
            Followed::Nothing => {}
            Followed::Samples(samples) => samples.bury(gone, |sample| bury(sample.owner)),
            Followed::All(objects) => objects.bury(gone, bury),
        }
    }

    /// Returns the records of all followed objects.
    pub(super) fn all(&self) -> Vec<LiveRecord> {
        match self {
            Followed::Nothing => Vec::new(),
            Followed::Samples(samples) => samples.all().copied().collect(),
            Followed::All(objects) => objects.all(),
        }
    }
}
