//! The tables of the samples: stacks, owners, types and followed objects.

use std::collections::HashMap;
use std::sync::Arc;

use loadhook_text::count;

use super::followed::Followed;
use super::known_keys::DIFFERED;
use super::owners::Owners;
use super::scan_schedule::ScanSchedule;
use super::stacks::{StackLimits, Stacks};
use crate::frames::numbers::Numbers;
use crate::frames::resolve::type_name;
use crate::instrument::hidden_names::without_address;

/// The number of innermost frames of a stack that are recorded by default.
pub(super) const DEPTH: usize = 128;

/// The type number for all types for which the table has no room.
pub(super) const OTHER_TYPES: u32 = 0;

/// The origin of the allocation events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventSource {
    /// Samples of the allocations of all classes. The number is the average distance of samples in bytes.
    Sampled(i32),
    /// All allocations of all classes.
    All,
    /// Allocations that the JVM itself makes for instrumented classes. `callers` is true if callers are recorded, too.
    Vm { callers: bool },
}

/// The tables of the samples so far.
pub(super) struct SampleTables {
    pub(super) stacks: Stacks,
    pub(super) owners: Owners,
    pub(super) types: Numbers<Arc<str>>,
    /// Numbers of types by the descriptors that the JVM gives.
    type_numbers: HashMap<Vec<u8>, u32>,
    pub(super) followed: Followed,
    /// Number of objects that are not followed, because the table of objects was full.
    pub(super) missed: u64,
    pub(super) schedule: ScanSchedule,
    /// Number of samples without a site, because the table of sites was full.
    pub(super) without_site: u64,
    /// Number of samples without a type, because the table of types was full.
    pub(super) without_type: u64,
}

impl SampleTables {
    pub(super) fn new(followed: Followed) -> Self {
        let mut types = Numbers::default();
        types.number("(other types)".into(), 1);
        SampleTables {
            stacks: Stacks::new(StackLimits::DEFAULT),
            owners: Owners::new(),
            types,
            type_numbers: HashMap::new(),
            followed,
            missed: 0,
            schedule: ScanSchedule::default(),
            without_site: 0,
            without_type: 0,
        }
    }

    /// Returns the number of a type. A new type gets a number if there are fewer than `most` types,
    /// otherwise [`OTHER_TYPES`].
    pub(super) fn type_number(&mut self, descriptor: &[u8], most: usize) -> u32 {
        // The names of copies of a hidden class differ only in the address that the JVM appends.
        let descriptor = without_address(descriptor);
        if let Some(number) = self.type_numbers.get(descriptor) {
            return *number;
        }
        let name = type_name(descriptor).into();
        let Some(number) = self.types.number(name, most) else {
            return OTHER_TYPES;
        };
        if self.type_numbers.len() < most {
            self.type_numbers.insert(descriptor.to_vec(), number);
        }
        number
    }

    /// Returns notes for the profile about samples for which the tables had no room.
    pub(super) fn notes(&self, source: EventSource) -> Vec<String> {
        let stacks = &self.stacks;
        let cut = match source {
            EventSource::Vm { .. } => format!(
                "objects that the JVM made itself have stacks deeper than {DEPTH} frames; outer callers, \
                 and objects without an instrumented class among these frames, are shown as (deeper)"
            ),
            _ => format!(
                "samples have stacks deeper than {DEPTH} frames; their outer callers are shown as (deeper)"
            ),
        };
        let unnamed = match source {
            EventSource::Vm { .. } => {
                "objects that the JVM made itself have frames that are shown as (other methods), because \
                 the table of methods was full"
            }
            _ => {
                "samples have frames that are shown as (other methods), because the table of methods was \
                 full"
            }
        };
        let notes = [
            (stacks.cut, cut.as_str()),
            (stacks.unnamed, unnamed),
            (
                stacks.without_callers,
                "samples have no callers, since the table of stacks was full",
            ),
            (
                self.without_site,
                "samples have neither place nor type, since the table of sites was full",
            ),
            (
                self.without_type,
                "samples are shown as (other types), since the table of types was full",
            ),
            (u64::from(stacks.keys.are_wrong), DIFFERED),
            (
                self.missed,
                "objects were not followed, since the table of objects was full",
            ),
        ];
        notes
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, note)| format!("{} {note}", count(number)))
            .collect()
    }
}
