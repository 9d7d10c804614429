//! The interval at which profiles are written while the program runs.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// The shortest interval.
const SHORTEST: Duration = Duration::from_millis(100);

/// Units and their milliseconds, the longest first.
const UNITS: &[(&str, u64)] = &[("m", 60_000), ("s", 1000), ("ms", 1)];

/// The time between two snapshots, at least 100 ms.
///
/// As text, it is a whole number with its unit, `ms`, `s` or `m`: `500ms`, `10s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotInterval(Duration);

/// The error for a text that is not a [`SnapshotInterval`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected a time of at least 100ms, for example 500ms, 10s or 5m")]
pub struct SnapshotIntervalError;

impl SnapshotInterval {
    /// Returns the interval of `millis` milliseconds; `None` if it is shorter than 100 ms.
    pub fn from_millis(millis: u64) -> Option<SnapshotInterval> {
        let interval = Duration::from_millis(millis);
        (interval >= SHORTEST).then_some(SnapshotInterval(interval))
    }

    /// Returns the interval as a duration.
    pub fn duration(self) -> Duration {
        self.0
    }
}

impl FromStr for SnapshotInterval {
    type Err = SnapshotIntervalError;

    fn from_str(text: &str) -> Result<Self, SnapshotIntervalError> {
        let end = text.find(|c: char| !c.is_ascii_digit());
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        let unit = UNITS.iter().find(|(name, _)| *name == unit);
        let millis = unit.and_then(|(_, millis)| number.parse::<u64>().ok()?.checked_mul(*millis));
        millis
            .and_then(SnapshotInterval::from_millis)
            .ok_or(SnapshotIntervalError)
    }
}

impl fmt::Display for SnapshotInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        let divides = |unit: u64| millis.is_multiple_of(u128::from(unit));
        let unit = UNITS.iter().find(|(_, unit)| divides(*unit));
        let (name, unit) = unit.unwrap_or(&("ms", 1));
        write!(f, "{}{name}", millis / u128::from(*unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, millis, shortest) in [
            ("100ms", 100, "100ms"),
            ("10s", 10_000, "10s"),
            ("2m", 120_000, "2m"),
            ("2000ms", 2000, "2s"),
            ("90s", 90_000, "90s"),
        ] {
            let interval: SnapshotInterval = text.parse().expect(text);
            assert_eq!(interval.duration(), Duration::from_millis(millis));
            assert_eq!(interval.to_string(), shortest);
        }
        for wrong in [
            "99ms",
            "1",
            "s",
            "-1s",
            "1.5s",
            "1h",
            "0m",
            "",
            "18446744073709551615m",
        ] {
            let read = wrong.parse::<SnapshotInterval>();
            assert_eq!(read, Err(SnapshotIntervalError), "{wrong}");
        }
    }
}
