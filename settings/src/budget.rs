//! The limit on the processor time that probes may take.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The word for no limit.
const NONE: &str = "none";

/// The highest limit in percent. Probes never cost more than this.
const MOST: u32 = 10_000;

/// A limit on the processor time that entry and exit probes may take: the value of the options
/// `budget=` and `--budget`.
///
/// As text, it is a percentage, `25` or `25%`, or `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeBudget {
    /// Percent of the processor time that the program takes without these probes.
    Percent(u32),
    /// No limit.
    None,
}

/// The error for a text that is not a [`ProbeBudget`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected a percentage from 1 to {MOST}, or the word `none`")]
pub struct ProbeBudgetError;

impl ProbeBudget {
    /// Returns the budget of `percent` percent; `None` if it is not from 1 to 10,000.
    pub fn from_percent(percent: u32) -> Option<ProbeBudget> {
        (1..=MOST)
            .contains(&percent)
            .then_some(ProbeBudget::Percent(percent))
    }

    /// Returns the limit in percent, if there is one.
    pub fn percent(self) -> Option<u32> {
        match self {
            ProbeBudget::Percent(percent) => Some(percent),
            ProbeBudget::None => None,
        }
    }
}

impl FromStr for ProbeBudget {
    type Err = ProbeBudgetError;

    fn from_str(text: &str) -> Result<Self, ProbeBudgetError> {
        if text == NONE {
            return Ok(ProbeBudget::None);
        }
        let number = text.strip_suffix('%').unwrap_or(text);
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        let percent = number.parse().ok().filter(|_| is_number);
        percent
            .and_then(ProbeBudget::from_percent)
            .ok_or(ProbeBudgetError)
    }
}

impl fmt::Display for ProbeBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProbeBudget::Percent(percent) => write!(f, "{percent}"),
            ProbeBudget::None => f.write_str(NONE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_percent_or_none() {
        for (text, budget, shortest) in [
            ("25", ProbeBudget::Percent(25), "25"),
            ("1%", ProbeBudget::Percent(1), "1"),
            ("10000", ProbeBudget::Percent(10_000), "10000"),
            ("none", ProbeBudget::None, "none"),
        ] {
            assert_eq!(text.parse(), Ok(budget));
            assert_eq!(budget.to_string(), shortest);
        }
        for wrong in ["0", "10001", "-1", "+1", "2.5", "%", "", "None", "25 %"] {
            assert_eq!(
                wrong.parse::<ProbeBudget>(),
                Err(ProbeBudgetError),
                "{wrong}"
            );
        }
    }
}
