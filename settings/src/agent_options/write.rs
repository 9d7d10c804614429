//! Writes the agent's options.

use std::fmt;

use loadhook_profile::Clock;

use super::{AgentOptions, DEFAULT_FILE, DEFAULT_NODES, NONE};
use crate::hprof_options::HPROF_PREFIX;
use crate::list;
use crate::sampling::{ClockSource, Sampler, SamplingInterval};

/// A writer of `KEY=VALUE` items, with commas between them.
struct Items<'f, 'b> {
    out: &'f mut fmt::Formatter<'b>,
    is_first: bool,
}

impl Items<'_, '_> {
    fn add(&mut self, key: &str, value: impl fmt::Display) -> fmt::Result {
        let separator = if self.is_first { "" } else { "," };
        self.is_first = false;
        write!(self.out, "{separator}{key}={value}")
    }

    /// Adds a path or pattern, which can contain commas.
    fn add_escaped(&mut self, key: &str, value: &str) -> fmt::Result {
        self.add(key, list::escaped(value))
    }

    fn add_if(&mut self, key: &str, is_set: bool) -> fmt::Result {
        if is_set { self.add(key, true) } else { Ok(()) }
    }
}

impl fmt::Display for AgentOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(options) = &self.hprof {
            return write!(f, "{HPROF_PREFIX}{options}");
        }
        let mut items = Items {
            out: f,
            is_first: true,
        };
        // Each pattern has its own key. Otherwise a pattern with an equals sign would be read as
        // another option.
        for pattern in &self.include {
            items.add_escaped("include", pattern.text())?;
        }
        if self.include_none {
            items.add("include", NONE)?;
        }
        for pattern in &self.exclude {
            items.add_escaped("exclude", pattern.text())?;
        }
        for file in &self.include_files {
            items.add_escaped("include-file", file)?;
        }
        if let Some(timing) = self.call_timing {
            items.add("timing", timing)?;
        }
        if let Some(mode) = self.alloc {
            items.add("alloc", mode)?;
        }
        if self.clock != Clock::Wall {
            items.add("clock", self.clock.as_str())?;
        }
        if let Some(budget) = self.budget {
            items.add("budget", budget)?;
        }
        if self.sampler != Sampler::default() {
            items.add("sampler", self.sampler)?;
        }
        if self.interval != SamplingInterval::default() {
            items.add("interval", self.interval)?;
        }
        if self.clock_source != ClockSource::default() {
            items.add("clock-source", self.clock_source)?;
        }
        if self.max_nodes != DEFAULT_NODES {
            items.add("max-nodes", self.max_nodes)?;
        }
        if let Some(interval) = self.snapshot_every {
            items.add("snapshot-every", interval)?;
        }
        items.add_if("all", self.all)?;
        items.add_if("latencies", self.latencies)?;
        items.add_if("alloc-context", self.alloc_context)?;
        items.add_if("locks", self.locks)?;
        items.add_if("explain", self.explain)?;
        items.add_if("gc", self.gc)?;
        items.add_if("jit", self.jit)?;
        items.add_if("quiet", self.quiet)?;
        items.add_if("control", self.control)?;
        if let Some(manifest) = &self.manifest {
            items.add_escaped("manifest", manifest)?;
        }
        if let Some(duration) = self.duration {
            items.add("duration", duration)?;
        }
        if let Some(answer) = &self.answer {
            items.add_escaped("answer", answer)?;
        }
        if self.file != DEFAULT_FILE {
            items.add_escaped("file", &self.file)?;
        }
        Ok(())
    }
}
