//! The options of an agent that is loaded at the JVM's start, or into a running one.

mod help;
mod hprof;
mod read;
mod write;

use loadhook_profile::{Clock, Timing};
use thiserror::Error;

use crate::allocation_mode::AllocationMode;
use crate::budget::ProbeBudget;
use crate::call_timing::CallTiming;
use crate::hprof_options::HprofOptions;
use crate::pattern::Pattern;
use crate::sampling::{ClockSource, Sampler, SamplingInterval};
use crate::snapshot_interval::SnapshotInterval;

pub use help::HELP;
pub use read::OptionsError;

/// Profile name if the user gives none; `%p` is the process id.
pub const DEFAULT_FILE: &str = "loadhook-%p.pb.gz";

/// Maximum number of call-tree nodes if the user gives none.
pub const DEFAULT_NODES: u32 = 1_000_000;

/// The processor time that probes may take with [`Timing::Adaptive`] if the user gives no budget,
/// in percent of the program's own.
pub const DEFAULT_BUDGET: u32 = 25;

/// The processor time that an agent attached to a running program may take if the user gives no budget, in percent of
/// the program's own.
pub const ATTACHED_BUDGET: u32 = 10;

/// The word that the option `include` takes instead of patterns to select no class.
pub const NONE: &str = "none";

/// Greatest number that the option `max-nodes` takes.
pub const MAX_NODES: u32 = 100_000_000;

/// The options of an agent that is loaded at the JVM's start, or into a running one.
///
/// `Display` writes the text behind `-agentpath:…=` and `FromStr` reads it. Only options that
/// differ from their defaults are written, because the JVM prints the contents of
/// `JAVA_TOOL_OPTIONS`.
///
/// ```
/// use loadhook_settings::{AgentOptions, Clock, Pattern};
///
/// let options = AgentOptions {
///     include: Pattern::parse_list("com.example.**,com.example.Service::handle*")?,
///     clock: Clock::Cpu,
///     ..AgentOptions::default()
/// };
/// let text = options.to_string();
/// assert_eq!(
///     text,
///     "include=com.example.**,include=com.example.Service::handle*,clock=cpu"
/// );
/// assert_eq!(text.parse(), Ok(options));
/// # Ok::<(), loadhook_settings::PatternError>(())
/// ```
///
/// Paths are strings because the text is UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentOptions {
    /// Classes and methods to instrument. If there are no patterns here and no
    /// [`include_files`](Self::include_files), all classes except the JDK's are instrumented.
    pub include: Vec<Pattern>,
    /// True if no class is instrumented, so that only samples are recorded: `include=none`.
    pub include_none: bool,
    /// Files of patterns to include; see
    /// [`patterns_in_file`](crate::patterns_in_file). The agent reads them.
    pub include_files: Vec<String>,
    /// Classes and methods not to instrument.
    pub exclude: Vec<Pattern>,
    /// True if trivial methods are also instrumented.
    pub all: bool,
    /// The way in which calls are recorded; `None` if the user chose none. [`AgentOptions::timing`] has the default.
    pub call_timing: Option<CallTiming>,
    /// True if timed calls are also counted by their durations, for percentiles.
    pub latencies: bool,
    /// Clock used to time calls.
    pub clock: Clock,
    /// The processor time that probes may take, if the user gave a limit; see
    /// [`AgentOptions::budget_percent`].
    pub budget: Option<ProbeBudget>,
    /// The engine that samples stacks, with [`Timing::Sampled`].
    pub sampler: Sampler,
    /// Processor time between two samples of a thread.
    pub interval: SamplingInterval,
    /// The clock that measures the processor time between two samples.
    pub clock_source: ClockSource,
    /// The allocations to record; `None` if none are recorded.
    pub alloc: Option<AllocationMode>,
    /// True if the calls that led to each allocation are also recorded.
    pub alloc_context: bool,
    /// True if waits for monitors and locks are recorded.
    pub locks: bool,
    /// Maximum number of call-tree nodes, from 1 to [`MAX_NODES`].
    pub max_nodes: u32,
    /// File name of the profile; `%p` after the last slash stands for the process id.
    pub file: String,
    /// Interval at which the profile is also written while the program runs.
    pub snapshot_every: Option<SnapshotInterval>,
    /// True if the profile also names the methods that are not instrumented.
    pub explain: bool,
    /// True if pauses of the garbage collector are recorded.
    pub gc: bool,
    /// True if the methods that the JIT compiler compiles and inlines are recorded.
    pub jit: bool,
    /// True if the name of the profile is not printed at exit.
    pub quiet: bool,
    /// File to which the name of the profile is appended; see
    /// [`manifest`](crate::manifest).
    pub manifest: Option<String>,
    /// Time after which an attached agent writes its profile and leaves.
    pub duration: Option<SnapshotInterval>,
    /// File to which an attached agent appends its answer; see [`attach`](crate::attach).
    pub answer: Option<String>,
    /// True if the agent takes orders while the program runs; see [`control`](crate::control).
    pub control: bool,
    /// The options of HPROF, if the user gives them. All other options then follow from them, and
    /// the profile is in a format of HPROF.
    pub hprof: Option<HprofOptions>,
}

impl Default for AgentOptions {
    fn default() -> Self {
        AgentOptions {
            include: Vec::new(),
            include_none: false,
            include_files: Vec::new(),
            exclude: Vec::new(),
            all: false,
            call_timing: None,
            latencies: false,
            clock: Clock::Wall,
            budget: None,
            sampler: Sampler::default(),
            interval: SamplingInterval::default(),
            clock_source: ClockSource::default(),
            alloc: None,
            alloc_context: false,
            locks: false,
            max_nodes: DEFAULT_NODES,
            file: DEFAULT_FILE.to_owned(),
            snapshot_every: None,
            explain: false,
            gc: false,
            jit: false,
            quiet: false,
            manifest: None,
            duration: None,
            answer: None,
            control: false,
            hprof: None,
        }
    }
}

/// Options that exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Conflict {
    /// Neither calls nor allocations nor locks are recorded.
    #[error(
        "timing=none records nothing without alloc= or locks=; add one of them or choose another timing"
    )]
    NothingRecorded,
    /// `alloc-context=true` without probes that count allocations.
    #[error("alloc-context=true needs alloc=exact")]
    ContextWithoutExact,
    /// `alloc-context=true` with samples, which do not show the calls that lead to an allocation.
    #[error(
        "alloc-context=true cannot be combined with timing=sampled, which does not record the calls that lead to an allocation; for these calls and their times, use timing=adaptive"
    )]
    ContextWithSamples,
    /// `include=none` without samples: nothing would be recorded.
    #[error("include=none needs timing=sampled (the default)")]
    NoneWithoutSamples,
    /// `include=none` beside patterns.
    #[error("include=none cannot be combined with other include, include-file or exclude options")]
    NoneAndPatterns,
    /// `include=none` beside probes that count allocations.
    #[error(
        "include=none cannot be combined with alloc=exact, which instruments classes; use alloc=sampled or alloc=live"
    )]
    NoneAndExactAllocations,
    /// An option of the sampler, although no samples are taken.
    #[error("sampler=, interval= and clock-source= need timing=sampled (the default)")]
    SamplerWithoutSamples,
    /// `jit=true` without the async engine, which records the methods that the JIT compiler compiles and inlines.
    #[error(
        "jit=true needs timing=sampled (the default) and cannot be combined with sampler=safepoint"
    )]
    JitWithoutSampler,
    /// `latencies=true` with a timing that times no calls.
    #[error(
        "latencies=true needs timing=exact (the default with latencies=true) or adaptive: the other timings do not time calls"
    )]
    LatenciesWithoutTimes,
    /// `budget=` with a timing that never takes probes away.
    #[error(
        "budget= needs timing=sampled, adaptive or exact: with the other timings no method can lose its probes"
    )]
    BudgetWithoutTimes,
}

impl AgentOptions {
    /// Returns the timing of calls; `None` if they are not recorded.
    ///
    /// By default calls are counted, and times come from samples. With [`latencies`](Self::latencies) the default is
    /// exact timing, because durations need timed calls. With [`alloc_context`](Self::alloc_context) probes must follow
    /// each call, so calls are at least counted.
    pub fn timing(&self) -> Option<Timing> {
        match self.call_timing {
            Some(CallTiming::Record(timing)) => Some(timing),
            None if self.latencies => Some(Timing::Exact),
            Some(CallTiming::None) | None if self.alloc_context => Some(Timing::Count),
            Some(CallTiming::None) => None,
            None => Some(Timing::Sampled),
        }
    }

    /// Returns whether calls have no times only because of [`alloc_context`](Self::alloc_context).
    /// Users may not expect this.
    pub fn context_drops_times(&self) -> bool {
        self.call_timing.is_none() && self.alloc_context && !self.latencies
    }

    /// Returns the processor time that the agent may take, in percent of the program's own; `None`
    /// without a limit.
    ///
    /// A limit that the user sets applies to all timings but [`Timing::Count`]. If the user sets no
    /// limit, only [`Timing::Adaptive`] has one, unless the callers of allocations are recorded.
    pub fn budget_percent(&self) -> Option<u32> {
        match (self.timing()?, self.budget) {
            (Timing::Count, _) => None,
            (_, Some(budget)) => budget.percent(),
            (Timing::Adaptive, None) if !self.alloc_context => Some(DEFAULT_BUDGET),
            _ => None,
        }
    }

    /// Returns whether stacks are sampled.
    pub fn samples(&self) -> bool {
        self.timing() == Some(Timing::Sampled)
    }

    fn has_sampler_options(&self) -> bool {
        let given = (self.sampler, self.interval, self.clock_source);
        given
            != (
                Sampler::default(),
                SamplingInterval::default(),
                ClockSource::default(),
            )
    }

    /// Returns whether probes count allocations.
    pub fn counts_allocations(&self) -> bool {
        self.alloc.is_some_and(AllocationMode::needs_probes)
    }

    /// Returns whether classes are instrumented, or may be after an order of `loadhook ctl`.
    pub fn instruments(&self) -> bool {
        self.timing().is_some() && (!self.include_none || self.control) || self.counts_allocations()
    }

    /// Checks that the options do not exclude each other.
    ///
    /// # Errors
    /// The first conflict.
    pub fn check(&self) -> Result<(), Conflict> {
        // HPROF's options may ask for nothing but a heap dump.
        let records_nothing =
            self.call_timing == Some(CallTiming::None) && self.alloc.is_none() && !self.locks;
        if records_nothing && self.hprof.is_none() {
            return Err(Conflict::NothingRecorded);
        }
        if self.alloc_context && self.alloc != Some(AllocationMode::Exact) {
            return Err(Conflict::ContextWithoutExact);
        }
        if self.include_none && self.counts_allocations() {
            return Err(Conflict::NoneAndExactAllocations);
        }
        if self.samples() {
            if self.alloc_context {
                return Err(Conflict::ContextWithSamples);
            }
        } else if self.include_none {
            return Err(Conflict::NoneWithoutSamples);
        } else if self.has_sampler_options() {
            return Err(Conflict::SamplerWithoutSamples);
        }
        if self.latencies && !matches!(self.timing(), Some(Timing::Adaptive | Timing::Exact)) {
            return Err(Conflict::LatenciesWithoutTimes);
        }
        if self.jit && (!self.samples() || self.sampler == Sampler::Safepoint) {
            return Err(Conflict::JitWithoutSampler);
        }
        if self.budget.is_some() && matches!(self.timing(), None | Some(Timing::Count)) {
            return Err(Conflict::BudgetWithoutTimes);
        }
        if self.include_none {
            let patterns = self.include.len() + self.include_files.len() + self.exclude.len();
            if patterns > 0 {
                return Err(Conflict::NoneAndPatterns);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
