//! The agent of this JVM, and the functions through which the JVM's callbacks use it.

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::jni::Jni;
use super::visits::{Visit, Visited, Withdrawn};
use crate::agent::Agent;
use crate::diagnostics;

/// The agent. A process has one JVM, and a JVM has one agent at a time.
static AGENT: Visited<Agent> = Visited::none();

/// Sets a panic hook that logs panics. The agent has its own copy of the standard library, so the hook has no effect on
/// other libraries.
pub(super) fn log_panics() {
    std::panic::set_hook(Box::new(|info| {
        diagnostics::once(&format!("internal error: {info}"))
    }));
}

/// Returns the text of the agent's options.
///
/// # Safety
/// `options` must be null or end in a zero byte, and live as long as `'o`.
pub(super) unsafe fn text<'o>(options: *const c_char) -> Cow<'o, str> {
    if options.is_null() {
        return "".into();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(options) }.to_string_lossy()
}

/// Installs the agent of this JVM. Returns `None` if the JVM has an agent already.
pub(super) fn install(agent: Agent) -> Option<&'static Agent> {
    AGENT.put(Box::new(agent))
}

/// Begins to use the agent. Returns `None` if there is no agent.
pub(super) fn visit() -> Option<Visit<Agent>> {
    AGENT.visit()
}

/// Takes the agent away from callbacks. Returns `None` if a callback that uses the agent does not end within `longest`.
pub(crate) fn withdraw(longest: Duration) -> Option<Withdrawn<Agent>> {
    AGENT.withdraw(longest)
}

/// Runs `body` with the agent and the thread's JNI environment, if there is an agent. Catches a panic.
///
/// # Safety
/// `env` must be the `JNIEnv` of this thread.
pub(super) unsafe fn on_event(env: *mut c_void, body: impl FnOnce(&'static Agent, Jni<'_>)) {
    let Some(visit) = visit() else {
        return;
    };
    // The panic hook has logged a panic.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the caller's promise.
        body(visit.value(), unsafe { Jni::new(env) });
    }));
}

/// Runs `body` with the agent, if there is one, in the callback of an event that forbids JNI. Catches a panic.
pub(super) fn on_event_without_jni(body: impl FnOnce(&'static Agent)) {
    if let Some(visit) = visit() {
        // The panic hook has logged a panic.
        let _ = catch_unwind(AssertUnwindSafe(|| body(visit.value())));
    }
}
