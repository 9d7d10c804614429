//! The circumstances of a measurement: clock, timing, command, JVM, notes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The rule that chooses the calls to be timed. The tracker uses the same numbers for the rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Timing {
    /// Long calls are always timed, short frequent ones on a random sample.
    #[default]
    Adaptive = 0,
    /// Every call is timed.
    Exact = 1,
    /// Calls are counted only; all times are zero.
    Count = 2,
    /// Times come from samples of running threads. Calls are counted without their callers.
    Sampled = 3,
}

/// The clock that times calls. The tracker uses the same numbers for the clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Elapsed time, waiting included.
    #[default]
    Wall = 0,
    /// The thread's own processor time.
    Cpu = 1,
}

/// The circumstances of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Header {
    /// The rule that chose the calls to be timed.
    pub timing: Timing,
    /// The clock that timed calls.
    pub clock: Clock,
    /// Start of the measurement, milliseconds since 1970 (UTC).
    pub start_epoch_millis: i64,
    /// Wall time from start to snapshot, in nanoseconds; in a merged profile, the sum over its processes.
    pub duration_ns: u64,
    /// The first part of `duration_ns`, in which an attached agent changed classes. Probes already count in this part,
    /// but samples are not taken. 0 for other agents.
    pub attaching_ns: u64,
    /// Memory the tracker held in the program's heap, in bytes.
    pub tracker_bytes: u64,
    /// Calls counted in an overflow node because the tree was full.
    pub overflowed_calls: u64,
    /// The cost of the probes, calibrated in the measured JVM.
    pub probe: ProbeCosts,
    /// The program's command line; empty if unknown.
    pub command: String,
    /// The JVM's name and version; empty if unknown.
    pub jvm: String,
    /// The version of Loadhook that measured; empty if unknown.
    pub version: String,
    /// A name that no other process has; profiles with the same name are parts of one process.
    /// Empty if unknown, and in profiles of several processes.
    pub process: String,
    /// The number of methods that were not instrumented, by reason.
    pub left_alone: BTreeMap<String, u64>,
    /// Patterns that no class matched; those with `::`, that no method matched.
    pub unmatched: Vec<String>,
    /// Set if the program was still running when the profile was written. A program that was killed
    /// leaves such a profile. A merged profile has this flag if one of its parts has the flag.
    pub not_ended: bool,
    /// Other facts for the user, one sentence each.
    pub notes: Vec<String>,
    /// The methods that were not instrumented, if their names were kept, each with its reason and descriptor:
    /// `trivial: com.example.Cart.size()I`. A last line may say how many more there are.
    pub explained: Vec<String>,
}

/// The note that [`Header::not_ended`] stands for.
pub const NOT_ENDED: &str = "the program was still running when this profile was written";

/// The cost of the probes of one call, in picoseconds.
///
/// A timed call's `inside_ps` lies between its two clock readings, and so in its own measured time. In
/// [`Timing::Exact`], a call also adds `outside_ps` to its caller's time. In other modes every call adds
/// `outside_ps` to its caller's time. A timed call then also adds the time of two clock readings, and `inside_ps`
/// is a part of this time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProbeCosts {
    /// The part of a timed call's probe inside its own measured interval.
    pub inside_ps: u64,
    /// The cost of entry and exit of one call. In [`Timing::Exact`] it is everything but
    /// `inside_ps`; in other modes it is the cost without clock readings.
    pub outside_ps: u64,
    /// The cost of one clock reading.
    pub clock_read_ps: u64,
}

impl Header {
    /// Returns the time for which the program was watched, in nanoseconds.
    pub(crate) fn watched_ns(&self) -> u64 {
        self.duration_ns.saturating_sub(self.attaching_ns)
    }

    /// Returns all notes. The note for [`Header::not_ended`] comes first, if it applies.
    pub(crate) fn all_notes(&self) -> impl Iterator<Item = &str> {
        let not_ended = self.not_ended.then_some(NOT_ENDED);
        not_ended
            .into_iter()
            .chain(self.notes.iter().map(String::as_str))
    }
}

impl Timing {
    /// Returns the word in options and files: `adaptive`, `exact`, `count`, `sampled`.
    pub fn as_str(self) -> &'static str {
        match self {
            Timing::Adaptive => "adaptive",
            Timing::Exact => "exact",
            Timing::Count => "count",
            Timing::Sampled => "sampled",
        }
    }
}

impl Clock {
    /// Returns the name in options and files: `wall`, `cpu`.
    pub fn as_str(self) -> &'static str {
        match self {
            Clock::Wall => "wall",
            Clock::Cpu => "cpu",
        }
    }
}
