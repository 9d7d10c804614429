//! The differences between two dumps, class by class.

use std::collections::BTreeMap;

use loadhook_heap::Histogram;

/// Two dumps side by side.
pub(in crate::heap) struct ClassChanges {
    /// Names of the two files.
    pub(in crate::heap) names: [String; 2],
    pub(in crate::heap) histograms: [Histogram; 2],
}

/// Instances and bytes of a class in the earlier and in the later dump.
#[derive(Default)]
pub(in crate::heap) struct Change {
    pub(in crate::heap) instances: [u64; 2],
    pub(in crate::heap) bytes: [u64; 2],
}

/// Returns the number of all classes, and the changes of the classes that changed, from the largest
/// growth to the largest shrinkage. Classes of one name count as one: their class loaders differ
/// only by addresses, which are not comparable between dumps.
pub(in crate::heap) fn changes(both: [&Histogram; 2]) -> (usize, Vec<(&str, Change)>) {
    let mut changes: BTreeMap<&str, Change> = BTreeMap::new();
    for (side, histogram) in both.into_iter().enumerate() {
        for class in &histogram.classes {
            let change = changes.entry(&*class.name).or_default();
            change.instances[side] += class.instances;
            change.bytes[side] = change.bytes[side].saturating_add(class.bytes);
        }
    }
    let all = changes.len();
    let is_changed = |change: &Change| {
        [change.instances, change.bytes]
            .iter()
            .any(|[before, after]| before != after)
    };
    let mut changed: Vec<(&str, Change)> = changes.into_iter().collect();
    changed.retain(|(_, change)| is_changed(change));
    changed.sort_by_key(|(_, change)| std::cmp::Reverse(difference(change.bytes)));
    (all, changed)
}

/// Returns the difference between a number before and after.
pub(in crate::heap) fn difference([before, after]: [u64; 2]) -> i128 {
    i128::from(after) - i128::from(before)
}
