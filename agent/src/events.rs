//! What the agent does at each event of the VM's life.

use std::cell::Cell;
use std::io::Write;
use std::sync::OnceLock;
use std::time::{Instant, SystemTime};

use loadhook_settings::{AgentOptions, Clock, OptionsError, Timing};

use crate::agent::{Agent, Tracker};
use crate::allocations::{Event, Samples};
use crate::instrument::hidden_classes::{self, Hidden};
use crate::instrument::hook::Hook;
use crate::instrument::loaders::Loaders;
use crate::instrument::retransform;
use crate::jvm::jni::{Jni, Reference, Thrown};
use crate::jvm::jvmti::{self, Jvmti, VmBuffer};
use crate::jvm::sys::{Capabilities, JVMTI_ERROR_NOT_AVAILABLE, capability, event};
use crate::options::Options;
use crate::snapshot::assembly;
use crate::snapshot::periodic::{self, Turns};
use crate::snapshot::{file, manifest};
use crate::{diagnostics, tracker};

const NOT_OF_THE_VM: &str = "allocations that the JVM makes itself are not counted";

thread_local! {
    /// Whether this thread is the one that the JVM began in.
    static IS_MAIN: Cell<bool> = const { Cell::new(false) };
}

/// Why there is no agent.
pub(crate) enum Refusal {
    /// The options are wrong: this stops the VM before `main`, the only case
    /// in which we stop one.
    Options(String),
    /// The VM lacks something: the program runs without us.
    Vm(String),
}

/// `Agent_OnLoad`: options and capabilities.
pub(crate) fn load(jvmti: Jvmti, text: &str) -> Result<Agent, Refusal> {
    let settings = match text.parse::<AgentOptions>() {
        Err(OptionsError::Help) => print_help(),
        read => read.map_err(|error| Refusal::Options(error.to_string()))?,
    };
    let options = Options::resolve(settings, std::process::id()).map_err(Refusal::Options)?;
    if options.settings.alloc_drops_timing() && !options.settings.quiet {
        diagnostics::line("alloc= turns call timing off; for both, add timing=adaptive");
    }
    if options.rewrites() {
        let needed = [
            capability::CAN_GENERATE_ALL_CLASS_HOOK_EVENTS,
            capability::CAN_RETRANSFORM_CLASSES,
            capability::CAN_RETRANSFORM_ANY_CLASS,
        ];
        jvmti
            .add_capabilities(Capabilities::of(&needed))
            .map_err(|error| {
                Refusal::Vm(format!("this JVM cannot retransform classes ({error})"))
            })?;
    }
    if options.rewrites() {
        // Without them a note names the hidden classes.
        let bind = [capability::CAN_GENERATE_NATIVE_METHOD_BIND_EVENTS];
        let _ = jvmti.add_capabilities(Capabilities::of(&bind));
    }
    if options.settings.clock == Clock::Cpu {
        let cpu_time = [capability::CAN_GET_CURRENT_THREAD_CPU_TIME];
        jvmti
            .add_capabilities(Capabilities::of(&cpu_time))
            .map_err(|error| {
                Refusal::Options(format!(
                    "clock=cpu: this JVM has no CPU clock for threads ({error}); use clock=wall"
                ))
            })?;
    }
    // Without it nobody knows which threads only waited.
    let _ = jvmti.add_capabilities(Capabilities::of(&[capability::CAN_GET_THREAD_CPU_TIME]));
    // From JDK 21 on; before, there are no virtual threads.
    let _ = jvmti.add_capabilities(Capabilities::of(&[capability::CAN_SUPPORT_VIRTUAL_THREADS]));
    let samples = match options
        .settings
        .alloc
        .map(|mode| Samples::prepare(jvmti, mode, &options))
    {
        None => None,
        Some(Ok(samples)) => Some(samples),
        Some(Err(error)) if options.counts_allocations() => {
            diagnostics::line(&format!("{NOT_OF_THE_VM}: {error}"));
            None
        }
        Some(Err(error)) => {
            let message = format!("allocations are not sampled: {}", why_not(error));
            if !options.rewrites() {
                return Err(Refusal::Vm(message));
            }
            diagnostics::line(&message);
            None
        }
    };
    if let Some(manifest) = &options.manifest {
        manifest::check(manifest, options.settings.quiet);
    }
    if let Err(error) = file::check(&options.file) {
        diagnostics::line(&format!(
            "{}: {error}; the program runs, and writing the profile is tried again when it ends",
            options.file.display()
        ));
    }
    Ok(Agent {
        jvmti,
        hook: Hook::new(options),
        loaders: Loaders::default(),
        hidden: Hidden::default(),
        samples,
        tracker: OnceLock::new(),
        turns: Turns::default(),
        began: (SystemTime::now(), Instant::now()),
        noted: OnceLock::new(),
        others: Default::default(),
        virtual_threads: false.into(),
    })
}

/// Prints the options and ends the process, as the JDK's own agents do: a refusal would have the VM add
/// that its initialization failed.
fn print_help() -> ! {
    // A closed standard output is no reason for another end.
    let _ = std::io::stdout()
        .lock()
        .write_all(loadhook_settings::HELP.as_bytes());
    std::process::exit(0)
}

fn why_not(error: jvmti::Error) -> String {
    match error {
        jvmti::Error(JVMTI_ERROR_NOT_AVAILABLE) => {
            format!("another agent already samples them, and a JVM allows only one ({error})")
        }
        error => format!("this JVM does not support it ({error})"),
    }
}

/// `VMStart`: the tracker becomes a class of `java.base`.
pub(crate) fn vm_start(agent: &'static Agent, jni: Jni<'_>) {
    let defined = jni.framed(|| {
        let mut tracker = Err(Thrown::default());
        for (name, bytes) in tracker::classes() {
            let class = jni.define_boot_class(&name, &bytes)?;
            if name == tracker::NAME {
                tracker = jni.global(class);
            }
        }
        Tracker::find(jni, tracker?)
    });
    match defined {
        Some(Ok(tracker)) => drop(agent.tracker.set(tracker)),
        _ => diagnostics::once(
            "internal error: the tracker class cannot be defined; nothing is instrumented",
        ),
    }
}

/// `VMInit`: the hook is enabled, and the classes loaded so far go through
/// it. Not earlier: an agent with the hook enabled at start makes the VM give
/// up its archive of classes.
pub(crate) fn vm_init(agent: &'static Agent, jni: Jni<'_>) {
    let Some(tracker) = agent.tracker.get() else {
        return;
    };
    IS_MAIN.set(true);
    tracker.heap.keep(jni);
    let options = agent.hook.options();
    let configured = tracker.configure(
        jni,
        options.timing.unwrap_or(Timing::Count) as i32,
        options.settings.clock as i32,
        i32::try_from(options.settings.max_nodes).unwrap_or(i32::MAX),
    );
    if configured.is_err() {
        diagnostics::once(
            "internal error: the tracker cannot be configured; nothing is instrumented",
        );
        return;
    }
    if options.counts_allocations() {
        tracker.sizes.measure_arrays(agent.jvmti, jni);
    }
    let vm_info = agent.jvmti.system_property("java.vm.info");
    agent.hook.set_owner(tracker::owner(
        vm_info.as_deref().unwrap_or_default(),
        options.settings.clock,
    ));
    agent.loaders.find(jni);
    if options.settings.snapshot_every.is_some() {
        // Before anything has probes: its constructor is no call of the program's.
        periodic::start(agent, jni);
    }
    // Before anything has probes, and after the tracker's own classes.
    let ends = agent.jvmti.notify(event::THREAD_END, true);
    let in_threads = tracker.heap.collects_in_threads;
    let begin = |samples: &Samples| ends.and_then(|()| samples.begin(agent.jvmti, jni, in_threads));
    if let Some(samples) = &agent.samples
        && !options.counts_allocations()
        && let Err(error) = begin(samples)
    {
        diagnostics::once(&format!("allocations are not sampled: {error}"));
    }
    if !options.rewrites() {
        return;
    }
    if let Err(error) = agent.jvmti.notify(event::CLASS_FILE_LOAD_HOOK, true) {
        diagnostics::once(&format!(
            "the JVM offers no class-load hook ({error}); nothing is instrumented"
        ));
        return;
    }
    // Without this event, the VM has no virtual threads.
    let _ = agent.jvmti.notify(event::VIRTUAL_THREAD_END, true);
    agent.hidden.begin(agent.jvmti, jni, tracker);
    retransform::loaded_classes(agent, jni);
    // Of a class that is loaded it is known only now whether it is instrumented,
    // and whose a frame is, is asked once.
    if let Some(samples) = &agent.samples
        && options.counts_allocations()
        && let Err(error) = begin(samples)
    {
        diagnostics::once(&format!("{NOT_OF_THE_VM}: {error}"));
    }
}

/// `ClassFileLoadHook`.
pub(crate) fn class_file_load(
    agent: &'static Agent,
    jni: Jni<'_>,
    loader: Reference,
    name: &[u8],
    bytes: &[u8],
) -> Option<VmBuffer> {
    let options = agent.hook.options();
    if !name.is_empty() && !options.filter.class_name(name) {
        return None;
    }
    let origin = agent.loaders.origin(agent.jvmti, jni, loader, name);
    agent.forget_unloaded(jni);
    let allocate = |len| agent.jvmti.allocate(len);
    agent.hook.instrument(origin, bytes, allocate)
}

/// `ThreadEnd` and `VirtualThreadEnd`.
pub(crate) fn thread_end(agent: &'static Agent, jni: Jni<'_>, thread: Reference) {
    if let Some(tracker) = agent.tracker.get() {
        tracker.thread_ends(jni, thread);
    }
}

/// `ThreadEnd`: of virtual threads there are no samples by thread.
pub(crate) fn platform_thread_end(agent: &'static Agent, jni: Jni<'_>, thread: Reference) {
    thread_end(agent, jni, thread);
    if let Some(samples) = &agent.samples {
        samples.thread_ends(agent, jni, thread);
    }
    if let Some(tracker) = agent.tracker.get()
        && IS_MAIN.take()
    {
        tracker.heap.main_ends(jni);
    }
}

/// `SampledObjectAlloc` and `VMObjectAlloc`.
pub(crate) fn object_alloc(agent: &'static Agent, jni: Jni<'_>, event: Event) {
    if let Some(samples) = &agent.samples
        && !hidden_classes::allocates()
    {
        samples.take(agent, jni, event);
    }
}

/// `GarbageCollectionFinish`.
pub(crate) fn garbage_collection_finish(agent: &'static Agent) {
    if let Some(samples) = &agent.samples {
        samples.collection_ends();
    }
}

/// `VMDeath`: the profile is written. Threads may still run.
pub(crate) fn vm_death(agent: &'static Agent, jni: Jni<'_>) {
    let Some(tracker) = agent.tracker.get() else {
        return;
    };
    if agent.turns.last() {
        assembly::write_profile(agent, jni, tracker);
    } else {
        diagnostics::line("no profile at the end: a snapshot that had begun does not finish");
    }
}
