//! Reads the options, requests capabilities from the JVM, and makes the parts of the agent.

use std::borrow::Cow;
use std::io::Write;
use std::sync::OnceLock;

use loadhook_settings::{
    ATTACHED_BUDGET, AgentOptions, Clock, HELP, HPROF_HELP, HPROF_PREFIX, HPROF_VARIABLE,
    HprofOptionsError, OptionsError, ProbeBudget,
};
use thiserror::Error;

use crate::agent::Agent;
use crate::allocations::Samples;
use crate::budget::log::BudgetLog;
use crate::control::pause::Pauses;
use crate::control::state::Control;
use crate::diagnostics;
use crate::end::End;
use crate::events::JVM_OBJECTS_NOT_COUNTED;
use crate::gc_pauses::GcRecording;
use crate::instrument::hidden_classes::HiddenClasses;
use crate::instrument::instrumentation::Instrumentation;
use crate::jvm::jvmpi::own_library;
use crate::jvm::jvmti::{self, Jvmti};
use crate::jvm::sampling::ClockSource;
use crate::jvm::sys::{Capabilities, JVMTI_ERROR_NOT_AVAILABLE, capability};
use crate::monitors::{Monitors, Purpose};
use crate::net::Connection;
use crate::options::{IncludeFileError, Options};
use crate::sampler::{Sampler, SamplerSettings};
use crate::snapshot::assembly::StartTime;
use crate::snapshot::gate::SnapshotGate;
use crate::snapshot::writer::ProfileWriter;
use crate::snapshot::{file, manifest};
use crate::threads::own::OwnThreads;

/// The reason why the agent cannot be loaded.
#[derive(Debug, Error)]
pub(crate) enum LoadError {
    /// The options are wrong.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// A file of patterns that the options name cannot be read.
    #[error(transparent)]
    IncludeFile(#[from] IncludeFileError),
    /// The JVM has no CPU clock for `clock=cpu`.
    #[error("clock=cpu: this JVM has no CPU clock for threads ({0}); use clock=wall")]
    NoCpuClock(jvmti::Error),
    /// The JVM is older than JDK 11, or has no JVM TI.
    #[error("this JVM has no JVM TI version 11; use JDK 11 or later")]
    NoJvmti,
    /// The JVM lacks the capabilities to instrument classes.
    #[error("this JVM cannot retransform classes ({0})")]
    NoRetransformation(jvmti::Error),
    /// The options ask only for allocations, and allocations cannot be sampled.
    #[error("{0}")]
    NoSamples(NoSamples),
    /// The options contain an option for attached agents only.
    #[error(
        "duration= and answer= work only if the agent is attached to a running JVM; remove them"
    )]
    OnlyAttached,
    /// Another agent already watches this JVM.
    #[error(
        "this JVM is already watched by Loadhook; wait until that agent has left, or detach it (loadhook ctl PID detach)"
    )]
    Watched,
    /// The events that the agent needs cannot be enabled.
    #[error("this JVM cannot send the events that the agent needs ({0})")]
    NoEvents(jvmti::Error),
}

impl LoadError {
    /// Returns whether the error is a mistake in the options. Such an error stops the JVM before `main`. After any
    /// other error, the program runs without the agent.
    pub(crate) fn is_of_user(&self) -> bool {
        matches!(
            self,
            LoadError::Options(_)
                | LoadError::IncludeFile(_)
                | LoadError::NoCpuClock(_)
                | LoadError::OnlyAttached
        )
    }
}

/// The reason why allocations are not sampled.
#[derive(Clone, Copy, Debug, Error)]
pub(crate) enum NoSamples {
    /// Another agent samples allocations, and a JVM allows only one such agent.
    #[error(
        "allocations are not sampled: another agent already samples them, and a JVM allows only one ({0})"
    )]
    Taken(jvmti::Error),
    /// The JVM lacks the capability.
    #[error("allocations are not sampled: this JVM does not support such samples ({0})")]
    NotSupported(jvmti::Error),
}

impl From<jvmti::Error> for NoSamples {
    fn from(error: jvmti::Error) -> Self {
        match error {
            jvmti::Error(JVMTI_ERROR_NOT_AVAILABLE) => NoSamples::Taken(error),
            error => NoSamples::NotSupported(error),
        }
    }
}

/// Makes the agent from the text of its options, at the JVM's start. In a library with HPROF's name, the options are
/// HPROF's.
pub(crate) fn load(jvmti: Jvmti, text: &str) -> Result<Agent, LoadError> {
    let settings = parse(&with_prefix(text, own_library::has_name_of_hprof()))?;
    if settings.duration.is_some() || settings.answer.is_some() {
        return Err(LoadError::OnlyAttached);
    }
    make(jvmti, settings)
}

/// Reads options. If they contain `help`, prints the help and ends the process.
pub(crate) fn parse(text: &str) -> Result<AgentOptions, OptionsError> {
    match with_environment(text).parse() {
        Err(OptionsError::Help) => print_help(HELP),
        Err(OptionsError::Hprof(HprofOptionsError::Help)) => print_help(HPROF_HELP),
        parsed => parsed,
    }
}

/// Warns, before the program runs, if the profile cannot be written.
pub(crate) fn check_file(options: &Options) {
    if let Err(error) = file::check(&options.file) {
        diagnostics::line(&format!(
            "{}: {error}; the program runs, and writing the profile is tried again when it ends",
            options.file.display()
        ));
    }
}

/// Makes an agent that is attached to a running JVM. Without patterns, the agent only takes samples, so that it changes
/// no class that the user has not named. Its default budget is smaller, because the program may be in productive use.
pub(crate) fn attached(jvmti: Jvmti, mut settings: AgentOptions) -> Result<Agent, LoadError> {
    let has_patterns =
        settings.include.len() + settings.include_files.len() + settings.exclude.len() > 0;
    if settings.samples() && !has_patterns && !settings.counts_allocations() {
        settings.include_none = true;
    }
    let has_default = settings.samples() || settings.budget_percent().is_some();
    if settings.budget.is_none() && has_default {
        settings.budget = ProbeBudget::from_percent(ATTACHED_BUDGET);
    }
    make(jvmti, settings)
}

fn make(jvmti: Jvmti, settings: AgentOptions) -> Result<Agent, LoadError> {
    // The files of patterns are read only now. So `help` works even if such a file is missing.
    let options = Options::resolve(settings, std::process::id())?;
    if options.settings.context_drops_times() && !options.settings.quiet {
        diagnostics::line(
            "alloc-context=true counts calls and does not time them; for times, add timing=adaptive",
        );
    }
    if let Some(hprof) = &options.settings.hprof {
        for option in &hprof.without_effect {
            diagnostics::line(&format!("hprof: {option}= has no effect"));
        }
    }
    add_capabilities(jvmti, &options)?;
    let samples = samples(jvmti, &options)?;
    let monitors = monitors(jvmti, &options);
    let gc = gc(jvmti, &options);
    let sampler = options
        .settings
        .samples()
        .then(|| Sampler::load(sampler_settings(&options.settings)));
    if let Some(manifest) = &options.manifest {
        manifest::check(manifest, options.settings.quiet);
    }
    let hprof = options.settings.hprof.as_ref();
    let connection = hprof.and_then(|hprof| Some(Connection::new(hprof.net.clone()?)));
    if connection.is_none() {
        check_file(&options);
    }
    Ok(Agent {
        jvmti,
        instrumentation: Instrumentation::new(jvmti, options),
        hidden_classes: HiddenClasses::default(),
        samples,
        sampler,
        gc,
        monitors,
        connection,
        own_threads: OwnThreads::default(),
        tracker: OnceLock::new(),
        gate: SnapshotGate::default(),
        end: End::default(),
        control: Control::default(),
        pauses: Pauses::default(),
        budget: BudgetLog::default(),
        attached: OnceLock::new(),
        watched_since: OnceLock::new(),
        attaching: OnceLock::new(),
        writer: ProfileWriter::default(),
        start_time: StartTime::now(),
        had_virtual_threads: false.into(),
    })
}

/// Returns the text of the options, with the prefix of HPROF's options if they are HPROF's. The prefix without its
/// colon means that there are no options.
fn with_prefix(text: &str, has_name_of_hprof: bool) -> Cow<'_, str> {
    if Some(text) == HPROF_PREFIX.strip_suffix(':') {
        HPROF_PREFIX.into()
    } else if has_name_of_hprof && !text.starts_with(HPROF_PREFIX) {
        format!("{HPROF_PREFIX}{text}").into()
    } else {
        text.into()
    }
}

/// Returns the text of the options. If they are HPROF's options, the options in the environment variable are appended.
fn with_environment(text: &str) -> Cow<'_, str> {
    match std::env::var(HPROF_VARIABLE) {
        Ok(more) if text.starts_with(HPROF_PREFIX) => format!("{text},{more}").into(),
        _ => text.into(),
    }
}

fn add_capabilities(jvmti: Jvmti, options: &Options) -> Result<(), LoadError> {
    let add = |capabilities: &[usize]| jvmti.add_capabilities(Capabilities::of(capabilities));
    if options.rewrites() {
        add(&[
            capability::CAN_GENERATE_ALL_CLASS_HOOK_EVENTS,
            capability::CAN_RETRANSFORM_CLASSES,
            capability::CAN_RETRANSFORM_ANY_CLASS,
        ])
        .map_err(LoadError::NoRetransformation)?;
        // If this fails, hidden classes are not instrumented, and a note names them.
        let _ = add(&[capability::CAN_GENERATE_NATIVE_METHOD_BIND_EVENTS]);
    }
    if options.settings.clock == Clock::Cpu {
        add(&[capability::CAN_GET_CURRENT_THREAD_CPU_TIME]).map_err(LoadError::NoCpuClock)?;
    }
    if options.settings.samples() {
        // If this fails, methods have no file names and lines.
        let _ = add(&[
            capability::CAN_GET_SOURCE_FILE_NAME,
            capability::CAN_GET_LINE_NUMBERS,
        ]);
    }
    // If this fails, the profile does not show which threads only waited.
    let _ = add(&[capability::CAN_GET_THREAD_CPU_TIME]);
    // This fails before JDK 21, where there are no virtual threads.
    let _ = add(&[capability::CAN_SUPPORT_VIRTUAL_THREADS]);
    Ok(())
}

fn sampler_settings(settings: &AgentOptions) -> SamplerSettings {
    SamplerSettings {
        engine: settings.sampler,
        interval: settings.interval.duration(),
        clock_source: match settings.clock_source {
            loadhook_settings::ClockSource::Timer => ClockSource::Timer,
            loadhook_settings::ClockSource::Perf => ClockSource::Perf,
        },
        waiting: settings.clock == Clock::Wall,
        jit: settings.jit,
        lines: settings.hprof.as_ref().is_some_and(|hprof| hprof.lineno),
        max_nodes: settings.max_nodes as usize,
    }
}

/// Prepares the samples of allocations that the options ask for. Returns `None` if the options ask for none, or if no
/// samples can be taken but the profile has other contents.
fn samples(jvmti: Jvmti, options: &Options) -> Result<Option<Samples>, LoadError> {
    let Some(mode) = options.settings.alloc else {
        return Ok(None);
    };
    match Samples::prepare(jvmti, mode, options) {
        Ok(samples) => return Ok(Some(samples)),
        Err(error) if options.counts_allocations() => {
            diagnostics::line(&format!("{JVM_OBJECTS_NOT_COUNTED}: {error}"));
        }
        Err(error) => {
            let error = NoSamples::from(error);
            if !options.rewrites() {
                return Err(LoadError::NoSamples(error));
            }
            diagnostics::line(&error.to_string());
        }
    }
    Ok(None)
}

/// Prepares the record of the garbage collector's pauses, if the options ask for it.
fn gc(jvmti: Jvmti, options: &Options) -> Option<GcRecording> {
    if !options.settings.gc {
        return None;
    }
    let needed = [capability::CAN_GENERATE_GARBAGE_COLLECTION_EVENTS];
    if let Err(error) = jvmti.add_capabilities(Capabilities::of(&needed)) {
        diagnostics::line(&format!(
            "pauses of the garbage collector are not recorded: this JVM does not report them ({error})"
        ));
        return None;
    }
    Some(GcRecording::default())
}

/// Prepares the record of waits of threads for each other, if the options ask for it.
fn monitors(jvmti: Jvmti, options: &Options) -> Option<Monitors> {
    let settings = &options.settings;
    let hprof = settings.hprof.as_ref().filter(|hprof| hprof.monitors);
    let purpose = match hprof {
        Some(hprof) => Purpose::Hprof {
            depth: usize::try_from(hprof.depth).unwrap_or(usize::MAX),
            by_thread: hprof.thread,
        },
        None if settings.locks => Purpose::Profile,
        None => return None,
    };
    let add = |capabilities: &[usize]| jvmti.add_capabilities(Capabilities::of(capabilities));
    let added = add(&[
        capability::CAN_GENERATE_MONITOR_EVENTS,
        capability::CAN_GET_MONITOR_INFO,
    ]);
    // These capabilities are for `MONITOR DUMP`. The JVM does not give them to an attached agent.
    let added = added.and_then(|()| match purpose {
        Purpose::Hprof { .. } => add(&[
            capability::CAN_GET_OWNED_MONITOR_INFO,
            capability::CAN_GET_CURRENT_CONTENDED_MONITOR,
        ]),
        Purpose::Profile => Ok(()),
    });
    if matches!(purpose, Purpose::Hprof { .. }) {
        // If this fails, sleeps are not noted, and a message says so.
        let _ = add(&[capability::CAN_GENERATE_NATIVE_METHOD_BIND_EVENTS]);
    }
    // If this fails, waits for locks of `java.util.concurrent` are not seen.
    let _ = add(&[capability::CAN_RETRANSFORM_CLASSES]);
    // If this fails, frames have no file names and lines.
    let _ = add(&[
        capability::CAN_GET_SOURCE_FILE_NAME,
        capability::CAN_GET_LINE_NUMBERS,
    ]);
    let monitors = Monitors::new(purpose);
    match added {
        Ok(()) => Some(monitors),
        Err(error) => {
            diagnostics::line(&format!(
                "{}: this JVM does not report waits for monitors ({error}); perhaps another agent of this JVM already gets them",
                monitors.option()
            ));
            None
        }
    }
}

/// Prints the help text and ends the process, as the JDK's own agents do. If the agent refused to load instead, the JVM
/// would add a message that the initialization has failed.
fn print_help(text: &str) -> ! {
    // A closed standard output does not change the exit code.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    std::process::exit(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_with_the_name_of_hprof_takes_its_options() {
        for (text, has_name, expected) in [
            ("cpu=samples", true, "hprof:cpu=samples"),
            ("", true, "hprof:"),
            ("hprof:cpu=samples", true, "hprof:cpu=samples"),
            ("hprof", true, "hprof:"),
            ("hprof", false, "hprof:"),
            ("file=a", false, "file=a"),
            ("", false, ""),
        ] {
            assert_eq!(with_prefix(text, has_name), expected, "{text}");
        }
    }
}
