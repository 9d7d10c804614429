//! The measure that a report weighs methods by.

use crate::model::Profile;

/// The measure that a report weighs methods by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// The time that methods took; their calls if nothing was timed.
    #[default]
    Time,
    /// The bytes that methods allocated.
    Allocated,
    /// The bytes of the objects that are still alive.
    Live,
    /// The time for which threads waited for monitors and locks that other threads held.
    Contention,
}

impl Measure {
    /// All measures.
    pub const ALL: [Measure; 4] = [
        Measure::Time,
        Measure::Allocated,
        Measure::Live,
        Measure::Contention,
    ];

    /// Returns the measure's name in options.
    pub fn as_str(self) -> &'static str {
        match self {
            Measure::Time => "time",
            Measure::Allocated => "allocated",
            Measure::Live => "live",
            Measure::Contention => "contention",
        }
    }

    /// Returns the default measure of a profile: time if it has calls, allocations or locks
    /// otherwise.
    pub fn of(profile: &Profile) -> Measure {
        match &profile.allocations {
            _ if profile.has_calls() => Measure::Time,
            Some(allocations) if allocations.live => Measure::Live,
            Some(_) => Measure::Allocated,
            None if profile.locks.is_some() => Measure::Contention,
            None => Measure::Time,
        }
    }

    /// Returns whether a profile has values of the measure.
    pub fn is_in(self, profile: &Profile) -> bool {
        let allocations = profile.allocations.as_ref();
        match self {
            Measure::Time => {
                allocations.is_none() && profile.locks.is_none() || profile.has_calls()
            }
            Measure::Allocated => allocations.is_some(),
            Measure::Live => allocations.is_some_and(|allocations| allocations.live),
            Measure::Contention => profile.locks.is_some(),
        }
    }
}
