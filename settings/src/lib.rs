//! The settings of Loadhook and their text forms, for both front ends.
//!
//! The command line builds typed settings and prints them with `Display`; the agent reads the text
//! with `FromStr`. Both directions are in this crate, so that they stay consistent:
//!
//! - [`AgentOptions`]: the text after `-agentpath:…=`, also for
//!   `loadhook run`, which prints it.
//! - [`HprofOptions`]: the options of the old agent HPROF after `hprof:`.
//! - [`HeapDumpRequest`] and [`heap_dump`]: the request of `loadhook heap PID -o FILE --via jvmti` to an attached
//!   agent, and the answer.
//! - [`mod@attach`]: the answer of an agent that `loadhook attach` has loaded.
//! - [`control`]: orders to an agent that watches, and its replies.
//! - [`manifest`]: the list of profiles that agents leave for `loadhook run`.
//! - [`Pattern`] and [`Filter`]: the choice of classes and methods to instrument.
//! - [`AllocationMode`], [`CallTiming`], [`Sampler`], [`SamplingInterval`],
//!   [`ClockSource`], [`ProbeBudget`], [`SnapshotInterval`], [`units`], [`mod@list`]: the words,
//!   numbers and lists that options are made of.
//!
//! Patterns are here and not in the rewriter, because they are a language for users; the rewriter
//! only calls a [`Selector`](loadhook_rewrite::Selector). Each profile records the timing of calls
//! and the clock, so [`Timing`] and [`Clock`] belong to `loadhook-profile`, which this crate uses.
//! The offline tracker reads settings of the same names in Java
//! (`tracker-java/offline/loadhook/Settings.java`); a test compares its words and defaults with
//! those here.
//!
//! The crate does no I/O and starts no thread.
#![forbid(unsafe_code)]

mod agent_options;
mod allocation_mode;
pub mod attach;
mod budget;
mod call_timing;
pub mod control;
mod filter;
mod glob;
pub mod heap_dump;
mod hprof_options;
pub mod list;
pub mod manifest;
mod pattern;
mod pattern_fault;
mod pattern_file;
mod sampling;
mod snapshot_interval;
pub mod units;

pub use agent_options::{
    ATTACHED_BUDGET, AgentOptions, Conflict, DEFAULT_BUDGET, DEFAULT_FILE, DEFAULT_NODES, HELP,
    MAX_NODES, NONE, OptionsError,
};
pub use allocation_mode::{AllocationMode, AllocationModeError};
pub use budget::{ProbeBudget, ProbeBudgetError};
pub use call_timing::{CallTiming, CallTimingError, parse_clock};
pub use filter::Filter;
pub use heap_dump::HeapDumpRequest;
pub use hprof_options::{
    Cutoff, HPROF_HELP, HPROF_PREFIX, HPROF_VARIABLE, HprofCpu, HprofOptions, HprofOptionsError,
};
pub use loadhook_profile::{Clock, Timing};
pub use pattern::{Pattern, PatternError};
pub use pattern_file::{PatternFileError, patterns_in_file};
pub use sampling::{
    ClockSource, ClockSourceError, Sampler, SamplerError, SamplingInterval, SamplingIntervalError,
};
pub use snapshot_interval::{SnapshotInterval, SnapshotIntervalError};
