//! Suspending threads, and their states.

use std::ptr::null_mut;
use std::sync::atomic::Ordering;

use loadhook_jvm::sys::thread_state;

use super::threads::Thread;
use super::{collections, layer, threads};
use crate::abi::{EnvId, Int};

/// `JVMPI_THREAD_RUNNABLE` and the other states.
pub(super) const RUNNABLE: Int = 1;
const MONITOR_WAIT: Int = 2;
const CONDVAR_WAIT: Int = 3;
const SUSPENDED: Int = 0x8000;
const INTERRUPTED: Int = 0x4000;
/// `JVMTI_ERROR_INVALID_THREAD` and `JVMTI_ERROR_THREAD_SUSPENDED`, which the lists of threads answer.
pub(super) const INVALID_THREAD: Int = 10;
const IS_SUSPENDED: Int = 14;
const NOT_SUSPENDED: Int = 13;

/// The thread with this environment, unless it is the calling one.
fn other(env: EnvId) -> Option<&'static Thread> {
    let own = layer::current_jni().map_or(null_mut(), layer::id);
    threads::find(env).filter(|_| env != own)
}

/// Suspends a thread. The answer is an error of JVM TI, or 0.
pub(super) fn suspend(env: EnvId) -> Int {
    let (Some(jvmti), Some(thread)) = (layer::jvmti(), other(env)) else {
        return INVALID_THREAD;
    };
    if thread.is_suspended.swap(true, Ordering::SeqCst) {
        return IS_SUSPENDED;
    }
    if let Err(error) = jvmti.suspend(thread.object.local()) {
        thread.is_suspended.store(false, Ordering::SeqCst);
        return error.0;
    }
    collections::disable();
    let time = jvmti.thread_cpu_time(thread.object.local());
    let [last, before] = &thread.cpu_times;
    before.store(last.swap(time, Ordering::SeqCst), Ordering::SeqCst);
    0
}

/// Resumes a thread that `suspend` has suspended.
pub(super) fn resume(env: EnvId) -> Int {
    let (Some(jvmti), Some(thread)) = (layer::jvmti(), other(env)) else {
        return INVALID_THREAD;
    };
    if !thread.is_suspended.swap(false, Ordering::SeqCst) {
        return NOT_SUSPENDED;
    }
    collections::enable();
    jvmti
        .resume(thread.object.local())
        .map_or_else(|error| error.0, |()| 0)
}

/// The status of a thread. A suspension by a profiler does not change it.
pub(super) fn status(env: EnvId) -> Int {
    let (Some(jvmti), Some(thread)) = (layer::jvmti(), threads::find(env)) else {
        return RUNNABLE;
    };
    let state = jvmti.thread_state(thread.object.local());
    let waits = thread_state::WAITING | thread_state::SLEEPING | thread_state::PARKED;
    let mut status = if state & thread_state::BLOCKED_ON_MONITOR_ENTER != 0 {
        MONITOR_WAIT
    } else if state & waits != 0 {
        CONDVAR_WAIT
    } else {
        RUNNABLE
    };
    if state & thread_state::SUSPENDED != 0 && !thread.is_suspended.load(Ordering::SeqCst) {
        status |= SUSPENDED;
    }
    if state & thread_state::INTERRUPTED != 0 {
        status |= INTERRUPTED;
    }
    status
}

/// Returns 1 if a thread has run since it was last suspended; if it is suspended, since the time before.
pub(super) fn has_run(env: EnvId) -> u8 {
    let (Some(jvmti), Some(thread)) = (layer::jvmti(), threads::find(env)) else {
        return 0;
    };
    let [last, before] = &thread.cpu_times;
    let last = last.load(Ordering::SeqCst);
    if thread.is_suspended.load(Ordering::SeqCst) {
        u8::from(last > before.load(Ordering::SeqCst))
    } else {
        u8::from(jvmti.thread_cpu_time(thread.object.local()) > last)
    }
}
