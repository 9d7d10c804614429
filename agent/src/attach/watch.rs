//! The thread that makes an attached agent leave when its duration is over, or when the command that attached it has
//! ended.

use std::time::Duration;

use super::answer;
use crate::agent::Agent;
use crate::diagnostics;
use crate::jvm::jni::Jni;

/// Interval at which the thread checks whether the command still runs.
const LOOK: Duration = Duration::from_millis(200);
/// Interval at which the thread checks whether the watching has begun.
const LOOK_FOR_BEGIN: Duration = Duration::from_millis(10);

/// Starts the thread if the agent has a duration or an answer. The thread calls `leave` when the duration is over, or
/// when the command that waits for the answer has ended.
///
/// The duration begins when all classes that were loaded before are instrumented, because changing ten thousand classes
/// takes seconds.
pub(super) fn start(
    agent: &'static Agent,
    jni: Jni<'_>,
    leave: fn(&'static Agent, Jni<'_>) -> bool,
) {
    let settings = &agent.options().settings;
    if settings.duration.is_none() && settings.answer.is_none() {
        return;
    }
    let duration = settings.duration.map(|duration| duration.duration());
    let run = move |jni: Jni<'_>| {
        loop {
            let pause = match (duration, agent.watched_since.get()) {
                (None, _) => LOOK,
                (Some(_), None) => LOOK_FOR_BEGIN,
                (Some(duration), Some(begin)) => duration.saturating_sub(begin.elapsed()).min(LOOK),
            };
            if pause.is_zero() || answer::is_abandoned() {
                leave(agent, jni);
                return;
            }
            if agent.gate.wait_for_end(pause) {
                return;
            }
        }
    };
    if !agent
        .own_threads
        .start(agent.jvmti, jni, c"loadhook attach", run)
    {
        diagnostics::once(
            "the agent cannot leave by itself, because the thread that makes it leave cannot be started; detach it (loadhook ctl PID detach)",
        );
    }
}
