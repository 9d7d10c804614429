//! `--via jvmti`: loads the agent into the process; the agent follows all references.
//!
//! The agent answers in a file beside the dump; `agent/src/heap_dump` defines its contents.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use loadhook_settings::HeapDumpRequest;
use loadhook_settings::heap_dump::{ANSWER_SUFFIX, DumpOutcome, TagMemory};
use loadhook_settings::units::parse_bytes;
use loadhook_text::{bytes, count, printable};
use rustix::process::geteuid;

use super::super::memory;
use super::target::DumpTarget;
use crate::agent_path::{agent_path, utf8};
use crate::jvm::{Answer, Jvm};
use crate::output::say;

/// A heap walk by the agent.
pub(super) struct AgentWalk {
    library: PathBuf,
    options: String,
    is_announced: bool,
    is_limited: bool,
}

impl AgentWalk {
    pub(super) fn new(
        jvm: &Jvm,
        target: &DumpTarget,
        max_memory: Option<u64>,
    ) -> Result<AgentWalk> {
        let file = utf8(&target.as_seen)?.to_owned();
        let limit = max_memory.unwrap_or_else(|| memory::available_for_tags(jvm.pid()));
        let library = agent_path()?;
        let is_seen = jvm.user() == geteuid().as_raw()
            && fs::metadata(&library).is_ok_and(|found| jvm.sees(&library, &found));
        // The JVM never unloads a library. Loading the same file again costs nothing.
        let library = match is_seen {
            true => library,
            false => target.add(&library).context("cannot copy the agent")?,
        };
        Ok(AgentWalk {
            library,
            options: HeapDumpRequest {
                file,
                max_memory: limit,
            }
            .to_string(),
            is_announced: false,
            is_limited: max_memory.is_some(),
        })
    }

    /// Returns the words of the attach command.
    pub(super) fn words(&self) -> [&OsStr; 4] {
        [
            OsStr::new("load"),
            self.library.as_os_str(),
            // The path of the library is absolute.
            OsStr::new("true"),
            OsStr::new(&self.options),
        ]
    }

    /// Prints the memory that the walk takes, as soon as the agent has reported it.
    pub(super) fn announce(&mut self, target: &DumpTarget) {
        if self.is_announced {
            return;
        }
        let answer = target.read_beside(ANSWER_SUFFIX).unwrap_or_default();
        if let Some(counted) = TagMemory::find(&answer)
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

    /// Checks that the walk succeeded, and warns of arrays that are cut off.
    pub(super) fn check(&mut self, target: &DumpTarget, answer: &Answer) -> Result<()> {
        let said = target.read_beside(ANSWER_SUFFIX).unwrap_or_default();
        self.announce(target);
        match DumpOutcome::find(&said) {
            Some(DumpOutcome::Done { cut: 0 }) => Ok(()),
            Some(DumpOutcome::Done { cut }) => {
                say!(
                    "warning: {} arrays are cut off, since they do not fit into a record of 4 GB",
                    count(cut)
                );
                Ok(())
            }
            Some(DumpOutcome::Fault(fault)) => bail!("no dump: {}", printable(&fault)),
            Some(DumpOutcome::Refused) => {
                let counted = TagMemory::find(&said)
                    .context("the agent did not report the number of objects")?;
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
                if answer.returned().is_some() {
                    bail!("no dump: the agent left no answer; check that the disk has free space");
                }
                let said = answer.one_line();
                bail!("the JVM does not load the agent: {}", printable(&said))
            }
        }
    }
}

/// Reads a number of bytes, for example `512m`.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let size = parse_bytes(text, "kmg");
    size.ok_or_else(|| "expected a number of bytes, for example 512m or 2g".to_owned())
}
