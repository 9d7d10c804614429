//! Objects that are followed until they are dead. Each has a tag in the JVM.

use super::exact_objects::ExactObjects;
use super::sampled_objects::{LiveRecord, MOST, SampledObjects};

/// The followed objects.
#[derive(Debug)]
pub(super) enum Followed {
    /// No objects are followed.
    Nothing,
    /// Sampled objects are followed.
    Samples(SampledObjects),
    /// All objects are followed.
    All(Box<ExactObjects>),
}

impl Followed {
    /// Adds an object and returns its tag; `None` if there is no room for it.
    pub(super) fn put(&mut self, record: LiveRecord) -> Option<i64> {
        match self {
            Followed::Nothing => None,
            Followed::Samples(samples) => samples.put(record),
            Followed::All(objects) => objects.put(record),
        }
    }

    /// The number of objects.
    pub(super) fn len(&self) -> usize {
        match self {
            Followed::Nothing => 0,
            Followed::Samples(samples) => samples.len(),
            Followed::All(objects) => objects.len(),
        }
    }

    /// The maximum number of objects.
    pub(super) fn most(&self) -> usize {
        match self {
            Followed::Nothing => 0,
            Followed::Samples(_) => MOST,
            Followed::All(objects) => objects.most(),
        }
    }

    /// The tags of all objects.
    pub(super) fn tags(&self) -> Vec<i64> {
        match self {
            Followed::Nothing => Vec::new(),
            Followed::Samples(samples) => samples.tags().collect(),
            Followed::All(objects) => objects.tags().collect(),
        }
    }

    /// Removes the object of this tag, which is dead, and returns its owner.
    pub(super) fn take(&mut self, tag: i64) -> Option<u32> {
        match self {
            Followed::Nothing => None,
            Followed::Samples(samples) => Some(samples.take(tag)?.owner),
            Followed::All(objects) => objects.take(tag),
        }
    }

    /// The records of all objects.
    pub(super) fn all(&self) -> Vec<LiveRecord> {
        match self {
            Followed::Nothing => Vec::new(),
            Followed::Samples(samples) => samples.all().collect(),
            Followed::All(objects) => objects.all(),
        }
    }
}
