//! The agent of this process, for functions called by the JVM.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use super::jni::Jni;
use crate::agent::Agent;

/// The agent. A process has one JVM, and a JVM one agent.
pub(super) static AGENT: OnceLock<Agent> = OnceLock::new();

/// Runs `body` with the agent and the thread's JNI environment, and keeps a panic from the JVM.
///
/// # Safety
/// `env` must be the `JNIEnv` of this thread.
pub(super) unsafe fn on_event(env: *mut c_void, body: impl FnOnce(&'static Agent, Jni<'_>)) {
    let Some(agent) = AGENT.get() else {
        return;
    };
    // The panic hook has logged a panic.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the caller's promise.
        body(agent, unsafe { Jni::new(env) });
    }));
}

/// Runs `body` in an event that forbids JNI, and keeps a panic from the JVM.
pub(super) fn on_event_without_jni(body: impl FnOnce(&'static Agent)) {
    if let Some(agent) = AGENT.get() {
        // The panic hook has logged a panic.
        let _ = catch_unwind(AssertUnwindSafe(|| body(agent)));
    }
}
