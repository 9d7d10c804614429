//! Handlers of the JVM's events of monitors, and of the probes of methods that park.

use std::time::Duration;

use crate::agent::Agent;
use crate::diagnostics;
use crate::jvm::jni::Jni;
use crate::jvm::reference::Local;
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

/// Enables the events, and puts the probes in.
pub(crate) fn begin(agent: &'static Agent, monitors: &Monitors, jni: Jni<'_>) {
    let option = monitors.option();
    if !monitors.begin(jni) {
        diagnostics::once(&format!(
            "{option}: the fields of threads are not found; report this"
        ));
        return;
    }
    for event in MONITOR_EVENTS {
        if let Err(error) = agent.jvmti.notify(event, true) {
            diagnostics::once(&format!(
                "{option}: the JVM does not report monitors ({error})"
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

fn parks_are_not_seen(option: &str) {
    diagnostics::once(&format!(
        "{option}: waits for locks of java.util.concurrent are not seen, because the JVM refuses to change LockSupport"
    ));
}

/// Takes the probes of methods that park out when a pause has begun, and puts them in again when it has ended.
pub(crate) fn pause_changes(agent: &'static Agent, jni: Jni<'_>) {
    let Some(monitors) = &agent.monitors else {
        return;
    };
    // The choice of methods is empty in a pause, but the hook is needed afterwards.
    let keeps_hook = agent.options().rewrites() || agent.has_hook();
    let mut is_done = false;
    // The gate is released, because the end of the JVM waits for it, and transformers of other agents may run long.
    agent.gate.release_during(|| {
        is_done = monitors.change_parks(agent.jvmti, jni, keeps_hook);
    });
    if !is_done && !agent.pauses.is_paused() && !agent.gate.is_ending() {
        parks_are_not_seen(monitors.option());
    }
}

/// Returns whether `LockSupport` is to have probes now.
pub(crate) fn probes_parks(agent: &Agent) -> bool {
    watching(agent).is_some_and(Monitors::probes_parks)
}

/// The record of waits; `None` in a pause. The ends of waits are noted in pauses too, so that no wait stays under way.
fn watching(agent: &Agent) -> Option<&Monitors> {
    let monitors = agent.monitors.as_ref();
    monitors.filter(|_| !agent.pauses.is_paused())
}

/// Has the probes call the agent from now on. While an agent is being attached they cannot, so a thread tries again
/// until they can.
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

/// Handles the entry of a method that parks. `blocker` is its argument, or null.
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
