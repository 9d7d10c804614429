//! Arguments of `loadhook trace`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use loadhook_settings::control::ValueTexts;
use loadhook_settings::{ProbeBudget, SnapshotInterval};

/// Arguments of `loadhook trace`.
#[derive(Debug, Args)]
#[command(
    after_help = "Ctrl-C ends the trace. If the process is not watched yet, the agent is attached for the time of the trace."
)]
pub(crate) struct TraceArgs {
    /// The process id of the JVM, as loadhook ps prints it
    pub(super) pid: u32,

    /// The methods, for example com.example.Service::handle or com.example.**
    pub(super) methods: String,

    /// Show calls that last at least this long, for example 50ms, 2s, 100us or 0
    #[arg(long, value_name = "TIME", default_value = "10ms")]
    pub(super) slower: Threshold,

    /// Also show the calls that an exception ends, however long they last
    #[arg(long)]
    pub(super) thrown: bool,

    /// Also show `this`, the arguments and the result of each call. With call, objects are shown by their toString,
    /// which runs code of the program
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "plain"
    )]
    pub(super) args: Option<Texts>,

    /// Trace this long, for example 500ms, 30s or 5m (default: until Ctrl-C)
    #[arg(long, value_name = "TIME")]
    pub(super) duration: Option<SnapshotInterval>,

    /// End the trace after this many calls
    #[arg(long, value_name = "CALLS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) count: Option<u64>,

    /// Processor time that Loadhook may take, in percent of what the program takes by itself, or the word none. If the
    /// trace takes more, it ends [default: 10]. No effect if the process is watched already
    #[arg(long, value_name = "PERCENT")]
    pub(super) budget: Option<ProbeBudget>,

    /// Output format: lines for people, one JSON object per call, or a file for ui.perfetto.dev and chrome://tracing
    #[arg(long, value_enum, default_value = "lines")]
    pub(super) format: Format,

    /// Write to this file, at the end of the trace (default: to standard output)
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

/// The way in which objects among the values of a call are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Texts {
    /// Class and identity, and lengths of arrays
    Plain,
    /// The result of toString
    Call,
}

impl From<Texts> for ValueTexts {
    fn from(texts: Texts) -> ValueTexts {
        match texts {
            Texts::Plain => ValueTexts::Plain,
            Texts::Call => ValueTexts::Call,
        }
    }
}

/// The forms in which calls are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Lines,
    Json,
    Chrome,
}

/// The least duration of a call that is shown, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Threshold(pub(super) u64);

/// The error for a text that is not a [`Threshold`].
const NO_THRESHOLD: &str = "expected a time such as 50ms, 2s, 100us or 0";

/// Units and their nanoseconds.
const UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
];

impl FromStr for Threshold {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "0" {
            return Ok(Threshold(0));
        }
        let end = text.find(|c: char| !c.is_ascii_digit());
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        let unit = UNITS.iter().find(|(name, _)| *name == unit);
        let nanos = unit.and_then(|(_, nanos)| number.parse::<u64>().ok()?.checked_mul(*nanos));
        let nanos = nanos.filter(|nanos| i64::try_from(*nanos).is_ok());
        nanos.map(Threshold).ok_or(NO_THRESHOLD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_have_units() {
        for (text, nanos) in [
            ("0", 0),
            ("7ns", 7),
            ("100us", 100_000),
            ("50ms", 50_000_000),
            ("2s", 2_000_000_000),
            ("1m", 60_000_000_000),
        ] {
            assert_eq!(text.parse::<Threshold>().ok(), Some(Threshold(nanos)));
        }
        for wrong in ["", "50", "ms", "-1ms", "1.5s", "1h", "99999999999999s"] {
            assert!(wrong.parse::<Threshold>().is_err(), "{wrong}");
        }
    }
}
