//! Options of `timing=sampled`: the engine that takes samples, its interval and its clock.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// The engine that takes samples of stacks: value of `sampler=` and `--sampler`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sampler {
    /// Signals if the JVM allows them, otherwise safepoints.
    #[default]
    Auto,
    /// Signals: a thread is sampled where it stands. If that is impossible, a message says so, and
    /// safepoints are used.
    Async,
    /// JVM TI: a thread is sampled at the next safepoint.
    Safepoint,
}

/// The clock that interrupts a running thread: value of `clock-source=` and `--clock-source`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockSource {
    /// A timer of the thread's processor clock. The kernel checks the timer at its own tick, every
    /// 1 to 10 ms. A sample counts for all intervals since the last sample.
    #[default]
    Timer,
    /// A performance event of the kernel. It keeps to the interval, but costs more, and may be
    /// forbidden.
    Perf,
}

/// The error for a text that is neither `auto`, `async` nor `safepoint`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected auto, async or safepoint")]
pub struct SamplerError;

/// The error for a text that is neither `timer` nor `perf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected timer or perf")]
pub struct ClockSourceError;

/// The error for a text that is not a [`SamplingInterval`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected a time from 50us to 1s, for example 500us or 1ms")]
pub struct SamplingIntervalError;

impl Sampler {
    /// All values.
    pub const ALL: [Sampler; 3] = [Sampler::Auto, Sampler::Async, Sampler::Safepoint];

    /// Returns the value's word in options.
    pub fn as_str(self) -> &'static str {
        match self {
            Sampler::Auto => "auto",
            Sampler::Async => "async",
            Sampler::Safepoint => "safepoint",
        }
    }
}

impl FromStr for Sampler {
    type Err = SamplerError;

    fn from_str(text: &str) -> Result<Self, SamplerError> {
        let mut all = Sampler::ALL.into_iter();
        all.find(|value| value.as_str() == text).ok_or(SamplerError)
    }
}

impl fmt::Display for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl ClockSource {
    /// All values.
    pub const ALL: [ClockSource; 2] = [ClockSource::Timer, ClockSource::Perf];

    /// Returns the value's word in options.
    pub fn as_str(self) -> &'static str {
        match self {
            ClockSource::Timer => "timer",
            ClockSource::Perf => "perf",
        }
    }
}

impl FromStr for ClockSource {
    type Err = ClockSourceError;

    fn from_str(text: &str) -> Result<Self, ClockSourceError> {
        let mut all = ClockSource::ALL.into_iter();
        all.find(|value| value.as_str() == text)
            .ok_or(ClockSourceError)
    }
}

impl fmt::Display for ClockSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Units and their microseconds, the longest first.
const UNITS: &[(&str, u64)] = &[("s", 1_000_000), ("ms", 1000), ("us", 1)];

/// The shortest interval in microseconds.
const SHORTEST: u64 = 50;

/// The longest interval in microseconds.
const LONGEST: u64 = 1_000_000;

/// Processor time of a thread between two of its samples, from 50 µs to 1 s.
///
/// As text, it is a whole number with its unit, `us`, `ms` or `s`: `500us`, `1ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamplingInterval {
    micros: u64,
}

impl Default for SamplingInterval {
    /// Returns the default, one millisecond.
    fn default() -> Self {
        SamplingInterval { micros: 1000 }
    }
}

impl SamplingInterval {
    /// Returns the interval of `micros` microseconds; `None` unless it is from 50 µs to 1 s.
    pub fn from_micros(micros: u64) -> Option<SamplingInterval> {
        (SHORTEST..=LONGEST)
            .contains(&micros)
            .then_some(SamplingInterval { micros })
    }

    /// Returns the interval as a duration.
    pub fn duration(self) -> Duration {
        Duration::from_micros(self.micros)
    }
}

impl FromStr for SamplingInterval {
    type Err = SamplingIntervalError;

    fn from_str(text: &str) -> Result<Self, SamplingIntervalError> {
        let end = text.find(|c: char| !c.is_ascii_digit());
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        let unit = UNITS.iter().find(|(name, _)| *name == unit);
        let micros = unit.and_then(|(_, micros)| number.parse::<u64>().ok()?.checked_mul(*micros));
        micros
            .and_then(SamplingInterval::from_micros)
            .ok_or(SamplingIntervalError)
    }
}

impl fmt::Display for SamplingInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let divides = |unit: u64| self.micros.is_multiple_of(unit);
        let unit = UNITS.iter().find(|(_, unit)| divides(*unit));
        let (name, unit) = unit.unwrap_or(&("us", 1));
        write!(f, "{}{name}", self.micros / unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_a_word() {
        for sampler in Sampler::ALL {
            assert_eq!(sampler.to_string().parse(), Ok(sampler));
        }
        for source in ClockSource::ALL {
            assert_eq!(source.to_string().parse(), Ok(source));
        }
        assert_eq!("signal".parse::<Sampler>(), Err(SamplerError));
        assert_eq!("cycles".parse::<ClockSource>(), Err(ClockSourceError));
    }

    #[test]
    fn intervals_have_units_and_bounds() {
        for (text, micros, shortest) in [
            ("50us", 50, "50us"),
            ("1ms", 1000, "1ms"),
            ("2000us", 2000, "2ms"),
            ("1s", 1_000_000, "1s"),
            ("1000ms", 1_000_000, "1s"),
        ] {
            let interval: SamplingInterval = text.parse().expect(text);
            assert_eq!(interval.duration(), Duration::from_micros(micros));
            assert_eq!(interval.to_string(), shortest);
        }
        for wrong in ["49us", "1001ms", "1", "ms", "0.5ms", "1m", "", "-1ms"] {
            let read = wrong.parse::<SamplingInterval>();
            assert_eq!(read, Err(SamplingIntervalError), "{wrong}");
        }
        assert_eq!(SamplingInterval::default().to_string(), "1ms");
    }
}
