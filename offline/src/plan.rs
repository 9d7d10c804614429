//! The settings of a rewriting.

use loadhook_instrument::{CallProbes, Selection};
use loadhook_settings::{Filter, Pattern};

/// The settings of a rewriting. Equal archives that are rewritten with equal plans get equal parts; with
/// different plans they get different parts.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The choice of methods and their probes.
    pub selection: Selection,
    /// Location of the tracker.
    pub tracker: Tracker,
    /// True if the signatures of signed archives are removed, since rewriting makes them invalid.
    pub strip_signatures: bool,
    /// True if classes that have probes already are kept. Otherwise they are an error.
    pub skip_instrumented: bool,
    /// True if a class or nested archive that cannot be read is an error. Otherwise it is kept as it is.
    pub strict: bool,
    /// Maximum size of a class, and of a nested archive when unpacked, in bytes.
    /// Larger classes and archives stay as they are.
    pub most_entry: u64,
    /// Maximum number of bytes to which the entries of one archive, nested archives included, are unpacked
    /// together; more is an error. `None` stands for 100 times the length of the archive, but at least 1 GiB,
    /// which useful archives do not reach. Each nested archive, and each root in which a class is rewritten,
    /// counts 256 KiB more.
    pub most_total: Option<u64>,
}

/// Location of the tracker, which consists of the classes that probes call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracker {
    /// The tracker is embedded in each archive.
    Embed,
    /// The tracker is in a separate jar, see [`tracker_jar`](crate::tracker_jar).
    Jar,
    /// The user provides the class `loadhook.Tracker`. Ids are unique over all inputs.
    None,
}

impl Plan {
    /// Returns the default plan: timing probes in all methods that pass the filter and are not
    /// trivial, and an embedded tracker.
    pub fn new(filter: Filter) -> Plan {
        Plan {
            selection: Selection::timing(filter),
            tracker: Tracker::Embed,
            strip_signatures: false,
            skip_instrumented: false,
            strict: false,
            most_entry: 512 << 20,
            most_total: None,
        }
    }

    /// Returns the settings as bytes, which are part of the hash from which the ids of units are made. Two plans
    /// have the same bytes if and only if they are equal.
    ///
    /// A boolean, the choice of call probes and the location of the tracker take
    /// one byte each, a number takes eight. A pattern is its length and its text.
    /// A list begins with the number of its patterns.
    pub(crate) fn encoded(&self) -> Vec<u8> {
        // This pattern has no `..`, so a new setting does not compile until it is added here.
        let Plan {
            selection:
                Selection {
                    filter,
                    // Only an agent traces.
                    traced: _,
                    calls,
                    all,
                    allocations,
                    objects,
                },
            tracker,
            strip_signatures,
            skip_instrumented,
            strict,
            most_entry,
            most_total,
        } = self;
        let mut bytes = Vec::new();
        put_patterns(&mut bytes, filter.included());
        put_patterns(&mut bytes, filter.excluded());
        bytes.push(match calls {
            None => 0,
            Some(CallProbes::Timing) => 1,
            Some(CallProbes::Count) => 2,
        });
        bytes.extend([all, allocations, objects].map(|it| u8::from(*it)));
        bytes.push(match tracker {
            Tracker::Embed => 0,
            Tracker::Jar => 1,
            Tracker::None => 2,
        });
        bytes.extend([strip_signatures, skip_instrumented, strict].map(|it| u8::from(*it)));
        bytes.extend(most_entry.to_le_bytes());
        bytes.push(u8::from(most_total.is_some()));
        bytes.extend(most_total.unwrap_or(0).to_le_bytes());
        bytes
    }
}

fn put_patterns<'p>(bytes: &mut Vec<u8>, patterns: impl ExactSizeIterator<Item = &'p Pattern>) {
    bytes.extend((patterns.len() as u64).to_le_bytes());
    for pattern in patterns {
        bytes.extend((pattern.text().len() as u64).to_le_bytes());
        bytes.extend(pattern.text().as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn plan(include: &[&str], exclude: &[&str]) -> Plan {
        let mut filter = Filter::new();
        for list in include {
            filter.include(list).expect("the pattern is valid");
        }
        for list in exclude {
            filter.exclude(list).expect("the pattern is valid");
        }
        Plan::new(filter)
    }

    #[test]
    fn the_encoding_of_a_plan_is_fixed() {
        let mut plan = plan(&["a.B"], &["c.*"]);
        plan.most_total = Some(7);
        let expected: Vec<u8> = [
            &[1, 0, 0, 0, 0, 0, 0, 0][..],
            &[3, 0, 0, 0, 0, 0, 0, 0],
            b"a.B",
            &[1, 0, 0, 0, 0, 0, 0, 0],
            &[3, 0, 0, 0, 0, 0, 0, 0],
            b"c.*",
            &[1, 0, 0, 0],
            &[0],
            &[0, 0, 0],
            &[0, 0, 0, 0x20, 0, 0, 0, 0],
            &[1],
            &[7, 0, 0, 0, 0, 0, 0, 0],
        ]
        .concat();
        assert_eq!(plan.encoded(), expected);
    }

    #[test]
    fn different_plans_have_different_encodings() {
        type Change = fn(&mut Plan);
        let changes: &[Change] = &[
            |_| {},
            |plan| plan.selection.calls = None,
            |plan| plan.selection.calls = Some(CallProbes::Count),
            |plan| plan.selection.all = true,
            |plan| plan.selection.allocations = true,
            |plan| plan.selection.objects = true,
            |plan| plan.tracker = Tracker::Jar,
            |plan| plan.tracker = Tracker::None,
            |plan| plan.strip_signatures = true,
            |plan| plan.skip_instrumented = true,
            |plan| plan.strict = true,
            |plan| plan.most_entry = 1,
            |plan| plan.most_total = Some(0),
            |plan| plan.most_total = Some(1),
        ];
        let filters: &[(&[&str], &[&str])] = &[
            (&[], &[]),
            (&["a.B"], &[]),
            (&[], &["a.B"]),
            (&["a.B", "c.D"], &[]),
            (&["a.B"], &["c.D"]),
        ];
        let mut encodings = BTreeSet::new();
        for (include, exclude) in filters {
            for change in changes {
                let mut plan = plan(include, exclude);
                change(&mut plan);
                encodings.insert(plan.encoded());
            }
        }
        assert_eq!(encodings.len(), filters.len() * changes.len());
    }
}
