//! `--via jvmti`: the agent is loaded, and follows all references.
//!
//! It answers in a file beside the dump; `agent/src/heap_dump` says with what.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use loadhook_profile::{bytes, count, printable};
use loadhook_settings::list;
use rustix::process::geteuid;

use super::memory;
use super::place::{Place, sees};
use crate::attach::{Answer, Jvm};
use crate::launch::{agent_path, utf8};
use crate::output::say;

/// What is behind the dump's name in that of the answer.
const ANSWER: &str = ".answer";

/// What the VM says when the agent ran, before what it returned.
const RETURNED: &str = "return code:";

/// An order to walk.
pub(super) struct Walk {
    library: PathBuf,
    options: String,
    is_announced: bool,
    is_limited: bool,
}

/// What the agent counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counted {
    objects: u64,
    bytes: u64,
    limit: u64,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Done { cut: u64 },
    Refused,
    Fault(String),
}

impl Walk {
    pub(super) fn new(jvm: &Jvm, place: &Place, max_memory: Option<u64>) -> Result<Walk> {
        let dump = list::escaped(utf8(&place.as_seen)?);
        let limit = max_memory.unwrap_or_else(|| memory::to_tag(jvm.pid()));
        let library = agent_path()?;
        let is_seen = jvm.user() == geteuid().as_raw()
            && fs::metadata(&library).is_ok_and(|found| sees(jvm, &library, &found));
        // A VM keeps each library that it has loaded: the same one again costs
        // nothing.
        let library = match is_seen {
            true => library,
            false => place.add(&library).context("a copy of the agent")?,
        };
        Ok(Walk {
            library,
            options: format!("heap-dump={dump},max-memory={limit}"),
            is_announced: false,
            is_limited: max_memory.is_some(),
        })
    }

    /// The order.
    pub(super) fn words(&self) -> [&OsStr; 4] {
        [
            OsStr::new("load"),
            self.library.as_os_str(),
            // The path is absolute.
            OsStr::new("true"),
            OsStr::new(&self.options),
        ]
    }

    /// Says what the walk takes, as soon as that is known.
    pub(super) fn announce(&mut self, place: &Place) {
        if self.is_announced {
            return;
        }
        let answer = place.read_beside(ANSWER).unwrap_or_default();
        if let Some(counted) = counted(&answer)
            && counted.bytes <= counted.limit
        {
            self.is_announced = true;
            say!(
                "loadhook: {} objects; tagging them takes about {} of the process's memory until the dump is done",
                count(counted.objects),
                bytes(counted.bytes)
            );
        }
    }

    /// Whether the walk went well.
    pub(super) fn check(&mut self, place: &Place, answer: &Answer) -> Result<()> {
        let said = place.read_beside(ANSWER).unwrap_or_default();
        self.announce(place);
        match outcome(&said) {
            Some(Outcome::Done { cut: 0 }) => Ok(()),
            Some(Outcome::Done { cut }) => {
                say!(
                    "warning: {} arrays are cut off, since they do not fit into a record of 4 GB",
                    count(cut)
                );
                Ok(())
            }
            Some(Outcome::Fault(fault)) => bail!("no dump: {}", printable(&fault)),
            Some(Outcome::Refused) => {
                let counted = counted(&said).context("the agent counted nothing")?;
                let limit = match self.is_limited {
                    true => "the limit",
                    false => "half of the free memory",
                };
                bail!(
                    "tagging {} objects would take about {} of the process's memory, and {limit} is {}; raise --max-memory",
                    count(counted.objects),
                    bytes(counted.bytes),
                    bytes(counted.limit)
                )
            }
            None => {
                let said: Vec<&str> = answer.text.lines().map(str::trim).collect();
                let said = said.join(" ");
                let said = said.trim();
                if said.starts_with(RETURNED) {
                    bail!("no dump: the agent left no answer; is the disk full?");
                }
                bail!("the JVM does not load the agent: {}", printable(said))
            }
        }
    }
}

fn counted(answer: &str) -> Option<Counted> {
    let mut lines = answer.split_inclusive('\n');
    let line = lines.find_map(|line| line.strip_prefix("counted "))?;
    let mut numbers = line.strip_suffix('\n')?.split(' ').map(str::parse);
    let mut next = || numbers.next()?.ok();
    Some(Counted {
        objects: next()?,
        bytes: next()?,
        limit: next()?,
    })
}

fn outcome(answer: &str) -> Option<Outcome> {
    answer.lines().find_map(|line| {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "done" => {
                let cut = rest.parse().ok()?;
                Some(Outcome::Done { cut })
            }
            "refused" => Some(Outcome::Refused),
            "fault" => Some(Outcome::Fault(rest.to_owned())),
            _ => None,
        }
    })
}

/// A number of bytes; `k`, `m` and `g` are units of 1024, its square and cube.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|char: char| !char.is_ascii_digit());
    let unit = match text.get(digits.len()..) {
        Some("") => Some(0),
        Some("k" | "K") => Some(10),
        Some("m" | "M") => Some(20),
        Some("g" | "G") => Some(30),
        _ => None,
    };
    let number = digits.parse::<u64>().ok();
    let size = number
        .zip(unit)
        .and_then(|(number, unit)| number.checked_mul(1 << unit));
    size.ok_or_else(|| "expected a number of bytes, for example 512m or 2g".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_line_by_line() {
        let numbers = Counted {
            objects: 3,
            bytes: 240,
            limit: 500,
        };
        assert_eq!(counted("counted 3 240 500\ndone 0\n"), Some(numbers));
        // Not all written yet.
        for part in ["", "counted 3 240", "counted 3 240 50", "counted 3 240\n"] {
            assert_eq!(counted(part), None, "{part}");
        }
        for (answer, expected) in [
            ("counted 3 240 500\n", None),
            ("done 0\n", Some(Outcome::Done { cut: 0 })),
            ("counted 3 2 1\nrefused\n", Some(Outcome::Refused)),
            ("fault a b\n", Some(Outcome::Fault("a b".to_owned()))),
            ("odd\ndone\n", None),
        ] {
            assert_eq!(outcome(answer), expected, "{answer}");
        }
    }

    #[test]
    fn sizes_have_units() {
        for (text, expected) in [
            ("0", 0),
            ("17", 17),
            ("3k", 3072),
            ("512M", 512 << 20),
            ("2g", 2 << 30),
        ] {
            assert_eq!(size(text), Ok(expected), "{text}");
        }
        for wrong in ["", "k", "-1", "1.5g", "1kb", "99999999999g", "1 k"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
