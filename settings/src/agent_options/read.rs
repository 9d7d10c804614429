//! Reads the agent's options.

use std::fmt::Display;
use std::str::FromStr;

use loadhook_profile::Clock;
use thiserror::Error;

use super::{AgentOptions, Conflict, MAX_NODES, NONE};
use crate::call_timing::parse_clock;
use crate::hprof_options::{HPROF_PREFIX, HprofOptions, HprofOptionsError};
use crate::list;
use crate::pattern::{Pattern, PatternError};

/// A fault in the text of the agent's options.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OptionsError {
    /// The text is a request for [`HELP`](super::HELP). This is an error, since the text then has
    /// no options.
    #[error("help")]
    Help,
    /// There is no option of this name.
    #[error("unknown option {0} (=help lists the options)")]
    Unknown(String),
    /// An option has no value.
    #[error("the option {0} has no value (=help lists the options)")]
    NoValue(String),
    /// The value of an option cannot be read.
    #[error("{option}={value}: {expected}")]
    Value {
        /// Name of the option.
        option: String,
        /// The value as written.
        value: String,
        /// A text that begins with "expected".
        expected: String,
    },
    /// A pattern cannot be read.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// The options exclude each other.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// The options of HPROF are wrong.
    #[error(transparent)]
    Hprof(#[from] HprofOptionsError),
}

/// Reads `KEY=VALUE,KEY=VALUE`, or [HPROF's options](HprofOptions) after `hprof:`.
///
/// An item without `=` continues the list of the item before it, so that lists
/// of patterns need no other separator: `include=a.*,b.*`. A comma in a path or
/// pattern is written `\,`.
impl FromStr for AgentOptions {
    type Err = OptionsError;

    fn from_str(text: &str) -> Result<Self, OptionsError> {
        if let Some(options) = text.strip_prefix(HPROF_PREFIX) {
            return Ok(options.parse::<HprofOptions>()?.into());
        }
        let mut options = AgentOptions::default();
        let mut open_list = None;
        for item in list::items(text).filter(|item| !item.is_empty()) {
            let (key, value) = match (item.split_once('='), open_list) {
                (Some((key, value)), _) => (key, value),
                (None, Some(key)) => (key, item),
                (None, None) if item == "help" => return Err(OptionsError::Help),
                (None, None) => return Err(OptionsError::NoValue(item.to_owned())),
            };
            if value.is_empty() {
                return Err(OptionsError::NoValue(key.to_owned()));
            }
            options.set(key, value)?;
            open_list = matches!(key, "include" | "exclude").then_some(key);
        }
        options.check()?;
        Ok(options)
    }
}

impl AgentOptions {
    /// Sets one option; `value` is as written in the list.
    fn set(&mut self, key: &str, value: &str) -> Result<(), OptionsError> {
        match key {
            "include" if value == NONE => self.include_none = true,
            "include" => self.include.push(Pattern::parse(&list::unescaped(value))?),
            "exclude" => self.exclude.push(Pattern::parse(&list::unescaped(value))?),
            "include-file" => self.include_files.push(list::unescaped(value)),
            "all" => self.all = boolean(key, value)?,
            "timing" => self.call_timing = Some(parsed(key, value)?),
            "latencies" => self.latencies = boolean(key, value)?,
            "clock" => self.clock = clock(key, value)?,
            "budget" => self.budget = Some(parsed(key, value)?),
            "sampler" => self.sampler = parsed(key, value)?,
            "interval" => self.interval = parsed(key, value)?,
            "clock-source" => self.clock_source = parsed(key, value)?,
            "alloc" => self.alloc = Some(parsed(key, value)?),
            "alloc-context" => self.alloc_context = boolean(key, value)?,
            "locks" => self.locks = boolean(key, value)?,
            "max-nodes" => self.max_nodes = nodes(key, value)?,
            "file" => self.file = list::unescaped(value),
            "snapshot-every" => self.snapshot_every = Some(parsed(key, value)?),
            "explain" => self.explain = boolean(key, value)?,
            "gc" => self.gc = boolean(key, value)?,
            "jit" => self.jit = boolean(key, value)?,
            "quiet" => self.quiet = boolean(key, value)?,
            "duration" => self.duration = Some(parsed(key, value)?),
            "answer" => self.answer = Some(list::unescaped(value)),
            "control" => self.control = boolean(key, value)?,
            "manifest" => self.manifest = Some(list::unescaped(value)),
            _ => return Err(OptionsError::Unknown(key.to_owned())),
        }
        Ok(())
    }
}

/// Makes an error about the value of an option. `expected` begins with the word "expected".
fn wrong(option: &str, value: &str, expected: impl Display) -> OptionsError {
    OptionsError::Value {
        option: option.to_owned(),
        value: value.to_owned(),
        expected: expected.to_string(),
    }
}

fn parsed<T: FromStr<Err: Display>>(key: &str, value: &str) -> Result<T, OptionsError> {
    value.parse().map_err(|error| wrong(key, value, error))
}

fn boolean(key: &str, value: &str) -> Result<bool, OptionsError> {
    value
        .parse()
        .map_err(|_| wrong(key, value, "expected true or false"))
}

fn clock(key: &str, value: &str) -> Result<Clock, OptionsError> {
    parse_clock(value).ok_or_else(|| wrong(key, value, "expected wall or cpu"))
}

fn nodes(key: &str, value: &str) -> Result<u32, OptionsError> {
    let expected = || format!("expected a number from 1 to {MAX_NODES}");
    let nodes = value.parse().ok();
    nodes
        .filter(|nodes| (1..=MAX_NODES).contains(nodes))
        .ok_or_else(|| wrong(key, value, expected()))
}
