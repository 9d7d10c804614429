//! Records of followed objects, each with a weak JNI reference to the object.
//!
//! Tags of JVM TI would also show that an object is gone, but setting and removing a tag takes five times as long as
//! making and deleting a weak reference.

use super::estimate::Estimate;
use super::owners::Site;
use crate::jvm::reference::Weak;

/// An object, or several objects of one owner, site and age, that no scan has found dead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LiveRecord {
    /// The number of the owner that made the object.
    pub(super) owner: u32,
    pub(super) site: Site,
    /// Number of collections that had ended when the object was made.
    pub(super) born: u32,
    /// The numbers of objects and bytes for which the record stands.
    pub(super) estimate: Estimate,
}

/// Records of objects, each with a weak reference to its object.
#[derive(Debug)]
pub(super) struct WeakRecords<R>(Vec<(Weak, R)>);

impl<R> Default for WeakRecords<R> {
    fn default() -> Self {
        WeakRecords(Vec::new())
    }
}

impl<R> WeakRecords<R> {
    pub(super) fn put(&mut self, weak: Weak, record: R) {
        self.0.push((weak, record));
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &R> {
        self.0.iter().map(|(_, record)| record)
    }

    pub(super) fn references(&self) -> Vec<Weak> {
        self.0.iter().map(|(weak, _)| *weak).collect()
    }

    /// Removes the records of objects that are gone, and calls `bury` with each removed record. `gone` is true for each
    /// object that is gone, in the order in which the objects were added. `gone` may end before the last objects; their
    /// records then stay.
    pub(super) fn bury(&mut self, gone: &[bool], mut bury: impl FnMut(&R)) {
        let mut gone = gone.iter();
        self.0.retain(|(_, record)| {
            let is_gone = gone.next().is_some_and(|is_gone| *is_gone);
            if is_gone {
                bury(record);
            }
            !is_gone
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_gone_objects_are_removed() {
        let mut records = WeakRecords::default();
        for number in 1..=5 {
            records.put(Weak::unknown(number), number);
        }
        let mut dead = Vec::new();
        records.bury(&[true, false, true, false], |record| dead.push(*record));
        assert_eq!(dead, [1, 3]);
        let left: Vec<usize> = records.all().copied().collect();
        assert_eq!(left, [2, 4, 5], "the last was added later");
        assert_eq!(records.references(), [2, 4, 5].map(Weak::unknown));
    }
}
