//! The thread that makes an attached agent leave when its duration is over, or when the command that attached it has
//! ended.

use std::time::{Duration, Instant};

use super::answer;
use crate::agent::Agent;
use crate::diagnostics;
use crate::jvm::jni::Jni;

/// Interval at which the thread checks whether the command still runs.
const LOOK: Duration = Duration::from_millis(200);

/// Starts the thread if the agent has a duration or an answer. The thread calls `leave` when the duration is over, or
/// when the command that waits for the answer has ended.
pub(super) fn start(
    agent: &'static Agent,
    jni: Jni<'_>,
    leave: fn(&'static Agent, Jni<'_>) -> bool,
) {
    let settings = &agent.options().settings;
    if settings.duration.is_none() && settings.answer.is_none() {
        return;
    }
    let end = settings
        .duration
        .and_then(|duration| Instant::now().checked_add(duration.duration()));
    let run = move |jni: Jni<'_>| {
        loop {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) || answer::is_abandoned() {
                leave(agent, jni);
                return;
            }
            if agent
                .gate
                .wait_for_end(left.map_or(LOOK, |left| left.min(LOOK)))
            {
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
