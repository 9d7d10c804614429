//! Handlers of JVM TI events.

use std::cell::Cell;
use std::time::{Duration, Instant};

use loadhook_settings::Timing;
use loadhook_settings::attach::AttachFigures;
use thiserror::Error;

use crate::agent::Agent;
use crate::allocations::{AllocationEvent, Samples};
use crate::budget::keeper;
use crate::control::thread::{self as control, Leave};
use crate::instrument::pace::Pace;
use crate::instrument::{hidden_classes, retransform};
use crate::jvm::jni::Jni;
use crate::jvm::reference::Local;
use crate::jvm::sys::event;
use crate::monitor_events::{self, MONITOR_EVENTS};
use crate::net::{Connection, commands};
use crate::sampler::Sampler;
use crate::snapshot::stream::Answer;
use crate::snapshot::{periodic, requests};
use crate::tracker::client::TrackerClient;
use crate::tracker::definition::{self, NotDefined};
use crate::tracker::ticker;
use crate::{diagnostics, tracker};

/// The longest time for which the end of the JVM waits for another thread that is ending the agent's work. A debugger
/// may have suspended that thread.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

pub(crate) const JVM_OBJECTS_NOT_COUNTED: &str =
    "allocations that the JVM makes itself are not counted";

thread_local! {
    /// True in the thread that runs `main`.
    static IS_MAIN: Cell<bool> = const { Cell::new(false) };
}

/// The reason why an agent cannot begin.
#[derive(Clone, Copy, Debug, Error)]
pub(crate) enum NotBegun {
    /// The tracker's classes could not be defined.
    #[error(transparent)]
    NotDefined(#[from] NotDefined),
    /// The tracker has refused its options.
    #[error("internal error: the tracker cannot be configured; nothing is instrumented")]
    NotConfigured,
}

/// Handles `VMStart`: defines the tracker's classes in `java.base`.
///
/// The classes are needed even if no class is instrumented, for two reasons. They keep the heap reserve: without it, a
/// program whose heap is full ends without `VMDeath`. And each profile is built from a snapshot that they make.
pub(crate) fn vm_start(agent: &'static Agent, jni: Jni<'_>) {
    match definition::tracker(jni) {
        Ok(tracker) => drop(agent.tracker.set(tracker)),
        Err(error) => diagnostics::once(&error.to_string()),
    }
}

/// Handles `VMInit`. `current` is the calling thread.
///
/// The event `ClassFileLoadHook` is not enabled earlier, because with an early hook the JVM does not use its archive of
/// classes (CDS).
pub(crate) fn vm_init(agent: &'static Agent, jni: Jni<'_>, current: Local<'_>, leave: Leave) {
    let Some(tracker) = agent.tracker.get() else {
        return;
    };
    IS_MAIN.set(true);
    if let Err(error) = begin(agent, jni, tracker, current, Pace::at_start(), leave) {
        diagnostics::once(&error.to_string());
    }
}

/// Begins the agent's work in a program that runs already. Returns figures about the classes that were changed.
pub(crate) fn attach(
    agent: &'static Agent,
    jni: Jni<'_>,
    leave: Leave,
) -> Result<AttachFigures, NotBegun> {
    definition::check_heap(jni)?;
    let tracker = definition::tracker(jni)?;
    let _ = agent.tracker.set(tracker);
    agent.hidden_classes.give_up_attached();
    let changes_classes =
        agent.options().rewrites() && !agent.instrumentation.hook.watch().filter.selects_none();
    if changes_classes && let Some(sampler) = &agent.sampler {
        sampler.note_loaded_classes(jni);
    }
    // `current` is null, because the list of threads already has this thread, in which the JVM attaches agents.
    let figures = begin(agent, jni, tracker, Local::NULL, Pace::running(), leave)?;
    let _ = agent.attached.set(figures);
    let _ = agent.watched_since.set(Instant::now());
    if figures.batches > 0 {
        let _ = agent.attaching.set(agent.start_time.elapsed());
    }
    Ok(figures)
}

/// Configures the tracker, enables the events, instruments the classes loaded so far, and begins to sample. `current`
/// is the calling thread if it is the main thread, otherwise null. The agent's own threads call `leave` when an order
/// or the budget makes the agent leave.
fn begin(
    agent: &'static Agent,
    jni: Jni<'_>,
    tracker: &'static TrackerClient,
    current: Local<'_>,
    pace: Pace,
    leave: Leave,
) -> Result<AttachFigures, NotBegun> {
    // The heap reserve is made before the events of allocations are enabled, because these events would report it as an
    // allocation of the program. If they are not enabled, the sampler's thread makes the reserve, but not before a
    // quarter of the heap is used: clearing its memory takes milliseconds.
    let has_reserve = agent.sampler.is_none() || agent.samples.is_some();
    if has_reserve {
        tracker.reserve.keep(jni);
    }
    let options = agent.options();
    let configured = tracker.configure(jni, options);
    configured.map_err(|_| NotBegun::NotConfigured)?;
    if !current.is_null() && options.counts_by_method() {
        tracker.thread_starts(jni, current);
    }
    ticker::start(options);
    if options.counts_allocations() {
        tracker.sizes.measure_arrays(agent.jvmti, jni);
    }
    let vm_info = agent.jvmti.system_property("java.vm.info");
    agent.instrumentation.hook.set_owner(tracker::owner(
        vm_info.as_deref().unwrap_or_default(),
        options.timing,
        &options.settings,
    ));
    agent.instrumentation.loaders.find(jni);
    if let Some(interval) = options.settings.snapshot_every {
        // This thread is started before any class has probes, because the call of the thread's constructor is not a
        // call of the program.
        start_snapshots(agent, jni, interval.duration());
    }
    if options.settings.hprof.is_some() {
        start_requests(agent, jni);
    }
    if let Some(connection) = &agent.connection {
        commands::start(agent, connection, jni);
    }
    // These threads, too, are started before any class has probes.
    keeper::start(agent, tracker, jni, leave);
    control::start(agent, jni, leave);
    let figures = begin_instrumenting(agent, jni, tracker, pace);
    if options.settings.hprof.is_some() {
        // This cannot fail: all JVMs have the event, and it needs no capability.
        let _ = agent.jvmti.notify(event::DATA_DUMP_REQUEST, true);
    }
    if let Some(monitors) = &agent.monitors {
        monitor_events::begin(agent, monitors, jni);
    }
    if let Some(gc) = &agent.gc {
        gc.begin(agent.jvmti);
    }
    // Sampling begins after retransformation, because samples would show retransformation as work of the program.
    if let Some(sampler) = &agent.sampler {
        let keep = move |jni: Jni<'_>| {
            has_reserve || (!tracker.reserve.can_wait(jni) && tracker.reserve.keep(jni))
        };
        if !begin_sampling(agent, sampler, jni, current, keep) && !has_reserve {
            tracker.reserve.keep(jni);
        }
    }
    if options.settings.control
        && let Err(error) = agent.control.open()
    {
        diagnostics::once(&format!(
            "the program cannot be reached by loadhook ctl: {error}"
        ));
    }
    Ok(figures)
}

/// Enables the events of threads, and starts the sampler's thread, which samples, and calls `chore` ten times a second
/// until `chore` returns true. Returns whether the sampler's thread was started.
fn begin_sampling(
    agent: &'static Agent,
    sampler: &'static Sampler,
    jni: Jni<'_>,
    current: Local<'_>,
    chore: impl FnMut(Jni<'_>) -> bool + Send + 'static,
) -> bool {
    let notify = |event| agent.jvmti.notify(event, true);
    if let Err(error) = notify(event::THREAD_START).and_then(|()| notify(event::THREAD_END)) {
        diagnostics::once(&format!(
            "threads are not sampled: the JVM does not report their start and end ({error})"
        ));
        return false;
    }
    sampler.begin(
        &agent.instrumentation,
        &agent.own_threads,
        jni,
        current,
        chore,
    )
}

fn start_snapshots(agent: &'static Agent, jni: Jni<'_>, interval: Duration) {
    let take = move |jni: Jni<'_>| {
        let Some(sources) = agent.sources() else {
            return;
        };
        if !sources.has_heap_for_snapshot(jni) {
            diagnostics::once("a snapshot is skipped: the heap is nearly full; raise -Xmx");
        } else if let Err(error) = agent.writer.write_snapshot(&sources, jni) {
            diagnostics::once(&format!(
                "a snapshot failed, and is tried again later: {error}"
            ));
        }
    };
    periodic::start(
        &agent.own_threads,
        agent.jvmti,
        jni,
        &agent.gate,
        interval,
        take,
    );
}

/// Starts the thread that writes a file with HPROF's tables at each request.
fn start_requests(agent: &'static Agent, jni: Jni<'_>) {
    let write = move |jni: Jni<'_>| {
        let Some(sources) = agent.sources() else {
            return;
        };
        if sources.connection.is_some() {
            commands::send(&sources, jni, Answer::whole(&sources));
        } else if sources.has_heap_for_snapshot(jni) {
            agent.writer.write_on_request(&sources, jni);
        } else {
            diagnostics::line("hprof: no file is written: the heap is nearly full; raise -Xmx");
        }
    };
    requests::start(&agent.own_threads, agent.jvmti, jni, &agent.gate, write);
}

/// Enables the events of allocations and classes, and instruments the loaded classes, in an order that keeps the
/// agent's own work out of the profile.
fn begin_instrumenting(
    agent: &'static Agent,
    jni: Jni<'_>,
    tracker: &TrackerClient,
    pace: Pace,
) -> AttachFigures {
    let options = agent.options();
    // `ThreadEnd` is enabled after the tracker's classes were defined, and before any class has
    // probes.
    let thread_ends = agent.jvmti.notify(event::THREAD_END, true);
    let has_concurrent_collector = tracker.reserve.has_concurrent_collector;
    let begin = |samples: &Samples| {
        thread_ends.and_then(|()| samples.begin(agent.jvmti, jni, has_concurrent_collector))
    };
    if let Some(samples) = &agent.samples
        && !options.counts_allocations()
        && let Err(error) = begin(samples)
    {
        diagnostics::once(&format!("allocations are not sampled: {error}"));
    }
    // The class-load hook is not enabled if no class is selected, because the JVM loads classes faster without it. An
    // order that includes classes enables the hook.
    let has_hook = agent.has_hook();
    let enabled = if has_hook {
        agent.jvmti.notify(event::CLASS_FILE_LOAD_HOOK, true)
    } else {
        Ok(())
    };
    // An attached agent has missed earlier redefinitions, and so has an agent that enables the event later.
    if has_hook && enabled.is_ok() && !agent.hidden_classes.is_attached() {
        agent.instrumentation.redefinitions.begin_to_see_all();
    }
    if !options.rewrites() {
        return AttachFigures::default();
    }
    if let Err(error) = enabled {
        diagnostics::once(&format!(
            "the JVM offers no class-load hook ({error}); nothing is instrumented"
        ));
        return AttachFigures::default();
    }
    let selects_none = agent.instrumentation.hook.watch().filter.selects_none();
    // If calls are only counted, the calls of a virtual thread are counted for its carrier, so the end of a virtual
    // thread need not be seen. The error is ignored, because a JVM without this event has no virtual threads.
    if options.timing != Some(Timing::Sampled) || options.counts_allocations() {
        let _ = agent.jvmti.notify(event::VIRTUAL_THREAD_END, true);
    }
    agent
        .hidden_classes
        .begin(agent.jvmti, jni, || tracker.bind_definer(jni));
    let figures = if selects_none {
        AttachFigures::default()
    } else {
        retransform::loaded_classes(
            &agent.instrumentation,
            &agent.hidden_classes,
            jni,
            pace,
            &|| !agent.gate.is_ending(),
        )
    };
    // Samples start after retransformation, because the agent looks up only once for each frame whether its class is
    // instrumented.
    if let Some(samples) = &agent.samples
        && options.counts_allocations()
        && let Err(error) = begin(samples)
    {
        diagnostics::once(&format!("{JVM_OBJECTS_NOT_COUNTED}: {error}"));
    }
    figures
}

/// Handles `VirtualThreadEnd`.
pub(crate) fn thread_end(agent: &'static Agent, jni: Jni<'_>, thread: Local<'_>) {
    if let Some(tracker) = agent.tracker.get() {
        tracker.thread_ends(jni, thread);
    }
    if let Some(monitors) = &agent.monitors {
        monitors.thread_ends(jni, thread);
    }
}

/// Handles `ThreadStart`.
pub(crate) fn platform_thread_start(agent: &'static Agent, jni: Jni<'_>, thread: Local<'_>) {
    if let Some(tracker) = agent.tracker.get()
        && agent.options().counts_by_method()
        && !agent.own_threads.contains(jni, thread)
    {
        tracker.thread_starts(jni, thread);
    }
    if let Some(sampler) = &agent.sampler {
        sampler.thread_starts(&agent.instrumentation, &agent.own_threads, jni, thread);
    }
}

/// Handles `ThreadEnd`. Only platform threads have samples of their own.
pub(crate) fn platform_thread_end(agent: &'static Agent, jni: Jni<'_>, thread: Local<'_>) {
    thread_end(agent, jni, thread);
    if let Some(sampler) = &agent.sampler {
        sampler.thread_ends(jni, thread);
    }
    let reserve = agent.tracker.get().map(|tracker| &tracker.reserve);
    if let Some(samples) = &agent.samples {
        samples.thread_ends(agent.jvmti, jni, reserve, thread);
    }
    if let Some(reserve) = reserve
        && IS_MAIN.take()
    {
        reserve.main_thread_ends(jni);
    }
}

/// Handles `SampledObjectAlloc` and `VMObjectAlloc`.
pub(crate) fn object_alloc(agent: &'static Agent, jni: Jni<'_>, event: AllocationEvent<'_>) {
    if let Some(samples) = &agent.samples
        && !hidden_classes::is_allocating()
        && !agent.pauses.is_paused()
        && agent
            .connection
            .as_ref()
            .is_none_or(Connection::notes_allocations)
    {
        samples.record(&agent.instrumentation, jni, event);
    }
}

/// Handles `DataDumpRequest`, which the signal `SIGQUIT` causes: requests that a file with HPROF's tables up to now is
/// written.
pub(crate) fn data_dump_request(agent: &'static Agent) {
    agent.gate.request();
}

/// Handles `GarbageCollectionStart`.
pub(crate) fn garbage_collection_start(agent: &'static Agent) {
    if let Some(gc) = &agent.gc
        && !agent.pauses.is_paused()
    {
        gc.pause_begins();
    }
}

/// Handles `GarbageCollectionFinish`.
pub(crate) fn garbage_collection_finish(agent: &'static Agent) {
    if let Some(gc) = &agent.gc {
        gc.pause_ends();
    }
    if let Some(samples) = &agent.samples {
        samples.collection_ends();
    }
}

/// Handles `VMDeath`: writes the profile. Other threads may still run.
pub(crate) fn vm_death(agent: &'static Agent, jni: Jni<'_>) {
    agent.control.close();
    agent.end.once(LONGEST_WAIT, || finish(agent, jni));
}

/// Ends sampling and writes the profile.
pub(crate) fn finish(agent: &'static Agent, jni: Jni<'_>) {
    if let Some(sampler) = &agent.sampler {
        sampler.finish(&agent.instrumentation, jni);
    }
    let Some(sources) = agent.sources() else {
        return;
    };
    if agent.gate.close() {
        agent.writer.write_last(&sources, jni);
    } else {
        diagnostics::line(
            "the final profile is not written: an earlier snapshot did not finish in time",
        );
    }
    if let Some(connection) = &agent.connection {
        connection.end();
    }
}

/// Disables all events except `ClassFileLoadHook`. Called when the agent leaves.
pub(crate) fn disable(agent: &Agent) {
    ticker::stop();
    if let Some(sampler) = &agent.sampler {
        sampler.disable_events();
    }
    for event in [
        event::THREAD_START,
        event::THREAD_END,
        event::VIRTUAL_THREAD_END,
        event::VM_OBJECT_ALLOC,
        event::SAMPLED_OBJECT_ALLOC,
        event::GARBAGE_COLLECTION_START,
        event::GARBAGE_COLLECTION_FINISH,
        event::NATIVE_METHOD_BIND,
        event::VM_DEATH,
        event::DATA_DUMP_REQUEST,
    ]
    .into_iter()
    .chain(MONITOR_EVENTS)
    {
        // Errors are ignored: a JVM refuses to disable an event that it does not know.
        let _ = agent.jvmti.notify(event, false);
    }
}
