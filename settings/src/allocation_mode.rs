//! The kinds of allocations that a profile records.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::units::{format_bytes, parse_bytes};

/// Mean number of bytes between two samples by default.
const DEFAULT_INTERVAL: i32 = 512 << 10;

/// Units of the interval. It must fit into 31 bits, so gigabytes are of little use.
const UNITS: &str = "km";

/// The kinds of allocations that a profile records.
///
/// As text: `exact`, `sampled`, `sampled=64k`, `live`, `live=64k`, `live=exact`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocationMode {
    /// `exact`: all allocations in instrumented methods.
    Exact,
    /// `sampled`: a sample of the allocations of all classes.
    Sampled {
        /// Mean bytes between two samples, at least 1.
        interval: i32,
    },
    /// `live`: a sample of the allocations of all classes, with the objects that are still alive.
    Live {
        /// Mean bytes between two samples, at least 1.
        interval: i32,
    },
    /// `live=exact`: all allocations of all classes, with the objects that are still alive.
    LiveExact,
}

/// The error for a text that is not an [`AllocationMode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "expected exact, sampled, sampled=BYTES, live, live=BYTES or live=exact \
     (BYTES from 1 to 2147483647, for example 64k or 2m)"
)]
pub struct AllocationModeError;

impl AllocationMode {
    /// Returns whether this mode needs probes. In the other modes the JVM itself reports
    /// allocations.
    pub fn needs_probes(self) -> bool {
        match self {
            AllocationMode::Exact => true,
            AllocationMode::Sampled { .. }
            | AllocationMode::Live { .. }
            | AllocationMode::LiveExact => false,
        }
    }
}

/// Reads the interval of a sample, which JVM TI takes as a `jint`.
fn interval(text: &str) -> Option<i32> {
    let bytes = i32::try_from(parse_bytes(text, UNITS)?).ok()?;
    (bytes > 0).then_some(bytes)
}

impl FromStr for AllocationMode {
    type Err = AllocationModeError;

    fn from_str(text: &str) -> Result<Self, AllocationModeError> {
        let (word, argument) = match text.split_once('=') {
            Some((word, argument)) => (word, Some(argument)),
            None => (text, None),
        };
        let interval = || argument.map_or(Some(DEFAULT_INTERVAL), interval);
        let mode = match (word, argument) {
            ("exact", None) => Some(AllocationMode::Exact),
            ("live", Some("exact")) => Some(AllocationMode::LiveExact),
            ("sampled", _) => interval().map(|interval| AllocationMode::Sampled { interval }),
            ("live", _) => interval().map(|interval| AllocationMode::Live { interval }),
            _ => None,
        };
        mode.ok_or(AllocationModeError)
    }
}

impl fmt::Display for AllocationMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, interval) = match *self {
            AllocationMode::Exact => return f.write_str("exact"),
            AllocationMode::LiveExact => return f.write_str("live=exact"),
            AllocationMode::Sampled { interval } => ("sampled", interval),
            AllocationMode::Live { interval } => ("live", interval),
        };
        f.write_str(word)?;
        if interval == DEFAULT_INTERVAL {
            return Ok(());
        }
        write!(
            f,
            "={}",
            format_bytes(interval.unsigned_abs().into(), UNITS)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_names() {
        let sampled = |interval| AllocationMode::Sampled { interval };
        let live = |interval| AllocationMode::Live { interval };
        for (text, mode, shortest) in [
            ("exact", AllocationMode::Exact, "exact"),
            ("sampled", sampled(524_288), "sampled"),
            ("sampled=512k", sampled(524_288), "sampled"),
            ("sampled=64k", sampled(65_536), "sampled=64k"),
            ("sampled=1", sampled(1), "sampled=1"),
            ("sampled=2M", sampled(2 << 20), "sampled=2m"),
            ("live", live(524_288), "live"),
            ("live=4k", live(4096), "live=4k"),
            ("live=exact", AllocationMode::LiveExact, "live=exact"),
        ] {
            assert_eq!(text.parse(), Ok(mode), "{text}");
            assert_eq!(mode.to_string(), shortest);
            assert_eq!(mode.needs_probes(), text == "exact", "{text}");
        }
        for wrong in [
            "",
            "all",
            "exact=1",
            "sampled=",
            "sampled=0",
            "sampled=-1",
            "sampled=1g",
            "sampled=2048m",
            "live=all",
            "sampled=exact",
        ] {
            let read = wrong.parse::<AllocationMode>();
            assert_eq!(read, Err(AllocationModeError), "{wrong}");
        }
    }
}
