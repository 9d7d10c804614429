//! Arguments that choose what an agent records, and the agent's options that follow from these arguments.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use loadhook_settings::{
    AgentOptions, AllocationMode, CallTiming, Clock, ClockSource, Conflict, DEFAULT_NODES,
    MAX_NODES, NONE, Pattern, PatternError, ProbeBudget, Sampler, SamplingInterval, Timing,
    parse_clock, patterns_in_file,
};

use crate::agent_path::utf8;
use crate::input;
use crate::output::say;

/// Returns a parser for the values of `--timing`, with a help text for each value.
fn call_timings() -> impl TypedValueParser<Value = CallTiming> {
    let values = CallTiming::ALL.map(|timing| {
        let help = match timing {
            CallTiming::Record(Timing::Sampled) => {
                "Count every call of each method, take times from samples: about 1 ns a call (default)"
            }
            CallTiming::Record(Timing::Adaptive) => {
                "Count every call by caller, until the budget takes a method's timing probes; time each, but short hot calls only at random: 10 to 33 ns a call"
            }
            CallTiming::Record(Timing::Exact) => {
                "Count and time every call by caller: two clock readings for each call"
            }
            CallTiming::Record(Timing::Count) => {
                "Count every call by caller, take no times: a little cheaper than adaptive"
            }
            CallTiming::None => "Record no calls and no times (only with --alloc)",
        };
        PossibleValue::new(timing.as_str()).help(help)
    });
    PossibleValuesParser::new(values).try_map(|word| word.parse::<CallTiming>())
}

/// Returns a parser for the values of `--clock`, with a help text for each value.
fn clocks() -> impl TypedValueParser<Value = Clock> {
    let values = [Clock::Wall, Clock::Cpu].map(|clock| {
        let help = match clock {
            Clock::Wall => "Elapsed time; waiting threads are sampled, too",
            Clock::Cpu => "Processor time of the thread; waiting threads are not sampled",
        };
        PossibleValue::new(clock.as_str()).help(help)
    });
    PossibleValuesParser::new(values).map(|word| parse_clock(&word).unwrap_or_default())
}

/// Returns a parser for the values of `--sampler`, with a help text for each value.
fn samplers() -> impl TypedValueParser<Value = Sampler> {
    let values = Sampler::ALL.map(|sampler| {
        let help = match sampler {
            Sampler::Auto => "async if the JVM allows it, else safepoint",
            Sampler::Async => "Interrupt a thread by a signal and sample it where it is",
            Sampler::Safepoint => {
                "Sample a thread at its next safepoint, which can be in another method"
            }
        };
        PossibleValue::new(sampler.as_str()).help(help)
    });
    PossibleValuesParser::new(values).try_map(|word| word.parse::<Sampler>())
}

/// Returns a parser for the values of `--clock-source`, with a help text for each value.
fn clock_sources() -> impl TypedValueParser<Value = ClockSource> {
    let values = ClockSource::ALL.map(|source| {
        let help = match source {
            ClockSource::Timer => "A timer, which the kernel checks every 1 to 10 ms",
            ClockSource::Perf => {
                "A performance event of the kernel: precise, costs more, may be forbidden"
            }
        };
        PossibleValue::new(source.as_str()).help(help)
    });
    PossibleValuesParser::new(values).try_map(|word| word.parse::<ClockSource>())
}

/// Arguments that say what is recorded.
#[derive(Clone, Debug, Args)]
pub(crate) struct ChoiceArgs {
    /// Instrument only the classes and methods that match, for example
    /// com.example.** or com.example.Service::handle* (default: every class
    /// that is not the JDK's); none instruments no class, so only samples are taken
    #[arg(long, value_name = "PATTERNS")]
    pub(crate) include: Vec<String>,

    /// Do not instrument the classes and methods that match
    #[arg(long, value_name = "PATTERNS")]
    exclude: Vec<String>,

    /// Read patterns to include from a file, one a line; # begins a comment
    #[arg(long, value_name = "FILE")]
    pub(crate) include_file: Vec<PathBuf>,

    /// Also instrument trivial methods: at most 24 instructions, no call, no
    /// loop (--timing sampled counts them anyway)
    #[arg(long)]
    pub(crate) all: bool,

    /// How calls are counted and timed (default: sampled; count with
    /// --alloc-context)
    #[arg(long, value_parser = call_timings())]
    timing: Option<CallTiming>,

    /// Also count timed calls by their durations, for the percentiles of loadhook
    /// report --latencies
    ///
    /// Without --timing, calls are timed exactly. With --timing adaptive, only the methods whose
    /// calls are all timed have percentiles: methods with long or few calls. A timed call takes
    /// about 15 ns more.
    #[arg(long)]
    latencies: bool,

    /// Time that is measured
    #[arg(long, value_parser = clocks(), default_value = "wall")]
    clock: Clock,

    /// Processor time that Loadhook may take, in percent of what the program
    /// takes by itself, or the word none (default: 25 with --timing adaptive, else none)
    ///
    /// If Loadhook takes more, hot methods lose probes. With --timing adaptive and exact, the calls
    /// of short methods are from then on counted, but not timed, and the time of these calls is in the
    /// self time of their callers. If a budget was given and counting takes too much, and with --timing
    /// sampled, calls are no longer counted. If that is not enough and a budget was given, Loadhook
    /// stops watching.
    #[arg(long, value_name = "PERCENT")]
    budget: Option<ProbeBudget>,

    /// Engine that samples stacks (for --timing sampled)
    #[arg(long, value_parser = samplers(), default_value = "auto")]
    sampler: Sampler,

    /// Processor time between two samples of a thread, from 50us to 1s (for
    /// --timing sampled)
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    interval: SamplingInterval,

    /// Clock that measures the interval (for --timing sampled)
    #[arg(long, value_parser = clock_sources(), default_value = "timer")]
    clock_source: ClockSource,

    /// Record allocations, by place and type: exact, sampled[=BYTES],
    /// live[=BYTES] or live=exact
    ///
    /// exact counts every allocation of the instrumented classes. sampled
    /// samples the allocations of all classes, one in BYTES bytes on average
    /// (default 512k). live takes the same samples and finds out which sampled
    /// objects are still alive. live=exact records every allocation of all classes, and
    /// which objects are still alive; allocations that the JIT compiler removes
    /// are not seen. Calls and times are recorded too; --timing none leaves them
    /// out, and then only exact instruments classes.
    #[arg(long, value_name = "MODE")]
    pub(crate) alloc: Option<AllocationMode>,

    /// Also record the calls that led to each allocation (only with --alloc
    /// exact)
    ///
    /// Samples cannot time calls by caller, so calls are counted and not timed.
    /// To time them as well, add --timing adaptive.
    #[arg(long, requires = "alloc")]
    alloc_context: bool,

    /// Record how often and how long threads wait for monitors and for locks of
    /// java.util.concurrent, where, and which threads hold them meanwhile
    ///
    /// Object.wait and other parks are counted apart from contention. The time is
    /// elapsed time, also of virtual threads. Monitors and locks that are free cost
    /// nothing.
    #[arg(long)]
    pub(crate) locks: bool,

    /// Maximum number of call-tree nodes (default: 1000000)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_NODES)))]
    max_nodes: Option<u32>,
}

impl ChoiceArgs {
    /// Returns the agent's options. The files that the agent writes are not set.
    ///
    /// Patterns are left out if no class is instrumented, because they would match nothing.
    pub(crate) fn agent_options(&self) -> Result<AgentOptions> {
        let (none, include): (Vec<&String>, Vec<&String>) =
            self.include.iter().partition(|list| *list == NONE);
        let mut options = AgentOptions {
            include_none: !none.is_empty(),
            all: self.all,
            call_timing: self.timing,
            latencies: self.latencies,
            clock: self.clock,
            budget: self.budget,
            sampler: self.sampler,
            interval: self.interval,
            clock_source: self.clock_source,
            alloc: self.alloc,
            alloc_context: self.alloc_context,
            locks: self.locks,
            max_nodes: self.max_nodes.unwrap_or(DEFAULT_NODES),
            quiet: true,
            ..AgentOptions::default()
        };
        options.check().map_err(refused)?;
        let others = include.len() + self.exclude.len() + self.include_file.len();
        if options.include_none && others > 0 {
            return Err(none_and_patterns());
        }
        let include = patterns(&include).context("--include")?;
        let exclude = patterns(&self.exclude).context("--exclude")?;
        let files = self.include_file.iter().map(|file| IncludeFile::read(file));
        let files = files.collect::<Result<Vec<IncludeFile>>>()?;
        if !options.instruments() {
            return Ok(options);
        }
        options.include = include;
        options.exclude = exclude;
        for file in files {
            match file {
                IncludeFile::Named(file) => options.include_files.push(utf8(&file)?.to_owned()),
                IncludeFile::Read(patterns) => options.include.extend(patterns),
            }
        }
        Ok(options)
    }

    /// Returns the agent's options for a JVM that runs already. Files of patterns are read here, because the JVM may
    /// not see them.
    pub(crate) fn options_for_running(&self) -> Result<AgentOptions> {
        let mut options = self.agent_options()?;
        for file in options.include_files.drain(..) {
            let text = fs::read_to_string(&file).with_context(|| file.clone())?;
            options.include.extend(patterns_in_file(&file, &text)?);
        }
        options.control = true;
        Ok(options)
    }

    /// Adds `--include none`, so that only samples are taken, unless another option needs instrumented classes.
    pub(crate) fn default_to_samples(&mut self) {
        let is_sampled = matches!(
            self.timing,
            None | Some(CallTiming::Record(Timing::Sampled))
        );
        let needs_probes = self.alloc.is_some_and(AllocationMode::needs_probes);
        let has_patterns = !self.include.is_empty()
            || !self.include_file.is_empty()
            || !self.exclude.is_empty()
            || self.all;
        if is_sampled && !self.latencies && !needs_probes && !has_patterns {
            self.include.push(NONE.to_owned());
        }
    }

    /// Returns whether no class is to be instrumented.
    pub(crate) fn includes_none(&self) -> bool {
        self.include.iter().any(|list| list == NONE)
    }

    /// Prints messages about times that the options turn off, and about options without effect.
    pub(crate) fn warn(&self, options: &AgentOptions) {
        if options.context_drops_times() {
            say!(
                "loadhook: --alloc-context counts calls and does not time them; for times, add --timing adaptive"
            );
        }
        let given = [
            ("--include", self.include.iter().any(|list| list != NONE)),
            ("--include-file", !self.include_file.is_empty()),
            ("--exclude", !self.exclude.is_empty()),
            ("--all", self.all),
            ("--explain", options.explain),
        ];
        if let Some(mode) = self.alloc.filter(|_| !options.instruments()) {
            for (option, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
                say!(
                    "loadhook: {option} has no effect: --alloc {mode} covers all classes; to choose which calls are counted, remove --timing none"
                );
            }
        }
        let is_timed = matches!(
            options.timing(),
            Some(Timing::Adaptive | Timing::Exact | Timing::Sampled)
        );
        if self.clock == Clock::Cpu && !is_timed {
            say!(
                "loadhook: --clock has no effect: calls are not timed; add --timing sampled, adaptive or exact"
            );
        }
    }
}

/// Returns the error for options that exclude each other, in the words of this command: `--timing`,
/// not `timing=`.
pub(super) fn refused(conflict: Conflict) -> anyhow::Error {
    match conflict {
        Conflict::NothingRecorded => anyhow!(
            "--timing none records nothing without --alloc or --locks; add one of them or choose another --timing"
        ),
        Conflict::ContextWithoutExact => anyhow!("--alloc-context needs --alloc exact"),
        Conflict::LatenciesWithoutTimes => anyhow!(
            "--latencies needs --timing exact (the default with --latencies) or adaptive: the other timings do not time calls"
        ),
        Conflict::ContextWithSamples => anyhow!(
            "--alloc-context cannot be combined with --timing sampled, which does not record the calls that lead to an allocation; for these calls and their times, use --timing adaptive"
        ),
        Conflict::NoneWithoutSamples => {
            anyhow!("--include none needs --timing sampled (the default)")
        }
        Conflict::NoneAndPatterns => none_and_patterns(),
        Conflict::NoneAndExactAllocations => anyhow!(
            "--include none cannot be combined with --alloc exact, which instruments classes; use --alloc sampled or live"
        ),
        Conflict::BudgetWithoutTimes => anyhow!(
            "--budget needs --timing sampled, adaptive or exact: with the other timings no method can lose its probes"
        ),
        Conflict::SamplerWithoutSamples => {
            anyhow!("--sampler, --interval and --clock-source need --timing sampled (the default)")
        }
        Conflict::JitWithoutSampler => {
            anyhow!(
                "--jit needs --timing sampled (the default) and cannot be combined with --sampler safepoint"
            )
        }
    }
}

fn none_and_patterns() -> anyhow::Error {
    anyhow!(
        "--include none cannot be combined with other --include, --include-file or --exclude; leave out none or the others"
    )
}

/// Parses the patterns of several lists.
fn patterns(lists: &[impl AsRef<str>]) -> Result<Vec<Pattern>, PatternError> {
    let mut patterns = Vec::new();
    for list in lists {
        patterns.extend(Pattern::parse_list(list.as_ref())?);
    }
    Ok(patterns)
}

/// The maximum size of a file of patterns, in bytes.
const MOST: u64 = 64 << 20;

/// A file of patterns that was read without a fault.
enum IncludeFile {
    /// The absolute path of the file. The agent reads the file again, and the JVM may be started in another folder.
    Named(PathBuf),
    /// The patterns of a file that can be read only once, such as a pipe.
    Read(Vec<Pattern>),
}

impl IncludeFile {
    fn read(file: &Path) -> Result<IncludeFile> {
        let name = file.display().to_string();
        let mut text = String::new();
        // A device or pipe may be endless.
        let opened = input::open(file, "a file of patterns").with_context(|| name.clone())?;
        let read = opened.take(MOST + 1).read_to_string(&mut text);
        if text.len() as u64 > MOST {
            bail!("{name}: more than 64 MiB, too large for a file of patterns; give a smaller one");
        }
        read.with_context(|| name.clone())?;
        let patterns = patterns_in_file(&name, &text)?;
        if fs::metadata(file).is_ok_and(|file| file.is_file()) {
            return Ok(IncludeFile::Named(std::path::absolute(file)?));
        }
        Ok(IncludeFile::Read(patterns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_end_is_refused() {
        let Err(error) = IncludeFile::read(Path::new("/dev/zero")) else {
            panic!("an endless file is refused");
        };
        let expected =
            "/dev/zero: more than 64 MiB, too large for a file of patterns; give a smaller one";
        assert_eq!(error.to_string(), expected);
    }
}
