//! Results of checks.

use std::collections::BTreeMap;

/// Results of a [`Verifier`](super::Verifier).
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Number of files and entries that did not change.
    pub untouched: u64,
    /// Number of classes that were rewritten or added.
    pub changed: u64,
    /// Number of bytes of the classes in `changed`.
    pub changed_bytes: u64,
    /// Faults and their places.
    pub faults: Vec<String>,
    /// Classes and archives that cannot be checked, because their inputs changed
    /// since they were read.
    pub outdated: Vec<String>,
    /// The direct superclass of each class, by internal names; `None` for
    /// interfaces.
    pub superclasses: BTreeMap<String, Option<String>>,
}

impl Checked {
    /// Returns the results of a file or entry that did not change.
    pub(super) fn untouched() -> Checked {
        Checked {
            untouched: 1,
            ..Checked::default()
        }
    }

    /// Returns the results of the file or entry `name` with one fault.
    pub(super) fn fault(name: &str, fault: &str) -> Checked {
        Checked {
            faults: vec![format!("{name}: {fault}")],
            ..Checked::default()
        }
    }

    /// Adds the results of another file or entry.
    pub(super) fn add(&mut self, other: Checked) {
        self.untouched += other.untouched;
        self.changed += other.changed;
        self.changed_bytes += other.changed_bytes;
        self.faults.extend(other.faults);
        self.outdated.extend(other.outdated);
        self.superclasses.extend(other.superclasses);
    }
}
