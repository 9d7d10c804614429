//! The way in which calls are recorded: timed, counted, or not at all. Also the clock that times
//! the calls.

use std::fmt;
use std::str::FromStr;

use loadhook_profile::{Clock, Timing};
use thiserror::Error;

/// The way in which calls are recorded: the value of the options `timing=` and `--timing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallTiming {
    /// `sampled`, `adaptive`, `exact` or `count`: calls are recorded with this timing.
    Record(Timing),
    /// `none`: calls are not recorded.
    None,
}

/// The error for a text that is not a [`CallTiming`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected sampled, adaptive, exact, count or none")]
pub struct CallTimingError;

impl CallTiming {
    /// All values, the default first.
    pub const ALL: [CallTiming; 5] = [
        CallTiming::Record(Timing::Sampled),
        CallTiming::Record(Timing::Adaptive),
        CallTiming::Record(Timing::Exact),
        CallTiming::Record(Timing::Count),
        CallTiming::None,
    ];

    /// Returns the value's word in options.
    pub fn as_str(self) -> &'static str {
        match self {
            CallTiming::Record(timing) => timing.as_str(),
            CallTiming::None => "none",
        }
    }
}

impl FromStr for CallTiming {
    type Err = CallTimingError;

    fn from_str(text: &str) -> Result<Self, CallTimingError> {
        let mut all = CallTiming::ALL.into_iter();
        all.find(|timing| timing.as_str() == text)
            .ok_or(CallTimingError)
    }
}

impl fmt::Display for CallTiming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Reads the name of a clock, `wall` or `cpu`.
pub fn parse_clock(text: &str) -> Option<Clock> {
    let mut clocks = [Clock::Wall, Clock::Cpu].into_iter();
    clocks.find(|clock| clock.as_str() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_a_word() {
        for timing in CallTiming::ALL {
            assert_eq!(timing.to_string().parse(), Ok(timing));
        }
        assert_eq!("fast".parse::<CallTiming>(), Err(CallTimingError));
        assert_eq!(parse_clock("cpu"), Some(Clock::Cpu));
        assert_eq!(parse_clock("CPU"), None);
    }
}
