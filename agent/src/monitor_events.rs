//! Handles the JVM's events about monitors, and the calls of the probes in methods that park.

use std::time::Duration;

use crate::agent::Agent;
use crate::diagnostics;
use crate::jvm::jni::Jni;
use crate::jvm::reference::Local;
use crate::jvm::sleeps;
use crate::jvm::sys::event;
use crate::monitors::Monitors;
use crate::tracker::client::TrackerClient;

/// The events of monitors.
pub(crate) const MONITOR_EVENTS: [i32; 4] = [
    event::MONITOR_WAIT,
    event::MONITOR_WAITED,
    event::MONITOR_CONTENDED_ENTER,
    event::MONITOR_CONTENDED_ENTERED,
];

/// Enables the events of monitors, and inserts the probes into methods that park.
pub(crate) fn begin(agent: &'static Agent, monitors: &Monitors, jni: Jni<'_>) {
    let option = monitors.option();
    if monitors.notes_sleeps() {
        begin_sleeps(agent, option);
    }
    if !monitors.begin(jni) {
        diagnostics::once(&format!(
            "{option}: waits are not recorded, because fields of java.lang.Thread are missing; report this"
        ));
        return;
    }
    for event in MONITOR_EVENTS {
        if let Err(error) = agent.jvmti.notify(event, true) {
            diagnostics::once(&format!(
                "{option}: waits are not recorded, because the JVM does not report monitors ({error})"
            ));
        }
    }
    if let Some(tracker) = agent.tracker.get() {
        link(agent, tracker, jni);
    }
    if !monitors.begin_parks(agent.jvmti, jni, agent.has_hook()) {
        parks_are_not_seen(option);
    }
}

/// Prepares for sleeps, whose native method the JVM has bound before.
fn begin_sleeps(agent: &Agent, option: &str) {
    if !sleeps::learn(agent.jvmti) {
        diagnostics::once(&format!(
            "{option}: there are no SLEEP lines, because this JVM does not report its function for Thread.sleep; perhaps another agent has replaced it"
        ));
    }
    if !agent.options().rewrites() {
        // Nothing else needs the event.
        let _ = agent.jvmti.notify(event::NATIVE_METHOD_BIND, false);
    }
}

fn parks_are_not_seen(option: &str) {
    diagnostics::once(&format!(
        "{option}: waits for locks of java.util.concurrent are not seen, because the JVM refuses to change LockSupport"
    ));
}

/// Removes the probes from methods that park when a pause has begun, and inserts them again when it has ended.
pub(crate) fn pause_changes(agent: &'static Agent, jni: Jni<'_>) {
    let Some(monitors) = &agent.monitors else {
        return;
    };
    // The choice of methods is empty in a pause. But the hook must stay enabled, because it is needed after the pause.
    let keeps_hook = agent.options().rewrites() || agent.has_hook();
    let mut is_done = false;
    // The gate is released meanwhile, because the end of the JVM waits for it, and transformers of other agents may run
    // long.
    agent.gate.release_during(|| {
        is_done = monitors.change_parks(agent.jvmti, jni, keeps_hook);
    });
    if !is_done && !agent.pauses.is_paused() && !agent.gate.is_ending() {
        parks_are_not_seen(monitors.option());
    }
}

/// Returns whether `LockSupport` should have probes at this moment.
pub(crate) fn probes_parks(agent: &Agent) -> bool {
    watching(agent).is_some_and(Monitors::probes_parks)
}

/// Returns the record of waits, in which the beginning of a wait is noted; `None` in a pause. (The end of a wait is
/// noted even in a pause, so that no wait stays open.)
fn watching(agent: &Agent) -> Option<&Monitors> {
    let monitors = agent.monitors.as_ref();
    monitors.filter(|_| !agent.pauses.is_paused())
}

/// Links the probes, so that they call the agent from now on. This can fail while an agent is being attached, so a
/// thread repeats it until it succeeds.
fn link(agent: &'static Agent, tracker: &'static TrackerClient, jni: Jni<'_>) {
    const PAUSE: Duration = Duration::from_millis(5);
    if tracker.link_parks(jni) {
        return;
    }
    let link_later = move |jni: Jni<'_>| {
        while !tracker.link_parks(jni) && !agent.gate.wait_for_end(PAUSE) {}
    };
    let name = c"loadhook locks";
    if !agent.own_threads.start(agent.jvmti, jni, name, link_later) {
        diagnostics::once(
            "waits for locks of java.util.concurrent are not seen: no thread can be started",
        );
    }
}

/// Handles `MonitorWait`.
pub(crate) fn wait(
    agent: &'static Agent,
    jni: Jni<'_>,
    thread: Local<'_>,
    object: Local<'_>,
    timeout_ms: i64,
) {
    if let Some(monitors) = watching(agent) {
        monitors.wait(&agent.instrumentation, jni, thread, object, timeout_ms);
    }
}

/// Handles `MonitorWaited`.
pub(crate) fn waited(agent: &'static Agent, jni: Jni<'_>, thread: Local<'_>, object: Local<'_>) {
    if let Some(monitors) = &agent.monitors {
        monitors.waited(agent.jvmti, jni, thread, object);
    }
}

/// Handles `MonitorContendedEnter`.
pub(crate) fn contended_enter(
    agent: &'static Agent,
    jni: Jni<'_>,
    thread: Local<'_>,
    object: Local<'_>,
) {
    if let Some(monitors) = watching(agent) {
        monitors.enter(&agent.instrumentation, jni, thread, object);
    }
}

/// Handles `MonitorContendedEntered`.
pub(crate) fn contended_entered(agent: &'static Agent, jni: Jni<'_>, thread: Local<'_>) {
    if let Some(monitors) = &agent.monitors {
        monitors.entered(jni, thread);
    }
}

/// Handles the beginning of a sleep.
pub(crate) fn sleeps(agent: &'static Agent, jni: Jni<'_>, timeout: Duration) {
    if let Some(monitors) = watching(agent) {
        monitors.sleeps(agent.jvmti, jni, timeout);
    }
}

/// Handles the entry of a method that parks. `blocker` is the argument of this method, or null.
pub(crate) fn parks(agent: &'static Agent, jni: Jni<'_>, thread: Local<'_>, blocker: Local<'_>) {
    if let Some(monitors) = watching(agent) {
        monitors.parks(&agent.instrumentation, jni, thread, blocker);
    }
}

/// Handles the exit of a method that parks.
pub(crate) fn parked(agent: &'static Agent, jni: Jni<'_>, thread: Local<'_>) {
    if let Some(monitors) = &agent.monitors {
        monitors.parked(jni, thread);
    }
}
