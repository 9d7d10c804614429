//! Suspending threads, and their states.

use std::ptr::null_mut;
use std::sync::Arc;

use loadhook_jvm::sys::thread_state;

use super::suspension::Hold;
use super::thread_record::Thread;
use super::{collections, layer, threads};
use crate::abi::{EnvId, Int};

/// `JVMPI_THREAD_RUNNABLE` and the other states.
pub(super) const RUNNABLE: Int = 1;
const MONITOR_WAIT: Int = 2;
const CONDVAR_WAIT: Int = 3;
const SUSPENDED: Int = 0x8000;
const INTERRUPTED: Int = 0x4000;
/// Results of the functions for lists of threads: `JVMTI_ERROR_INVALID_THREAD`, `JVMTI_ERROR_THREAD_SUSPENDED` and
/// `JVMTI_ERROR_THREAD_NOT_SUSPENDED`.
pub(super) const INVALID_THREAD: Int = 10;
const IS_SUSPENDED: Int = 14;
const NOT_SUSPENDED: Int = 13;

/// Finds the thread with this environment; `None` if it is the calling thread.
fn other(env: EnvId) -> Option<Arc<Thread>> {
    let own = layer::current_jni().map_or(null_mut(), layer::id);
    threads::find(env).filter(|_| env != own)
}

/// Suspends a thread. Returns an error of JVM TI, or 0.
pub(super) fn suspend(env: EnvId) -> Int {
    let (Some(jvmti), Some(thread)) = (layer::jvmti(), other(env)) else {
        return INVALID_THREAD;
    };
    let changed = thread
        .suspension
        .change(Hold::Free, || match jvmti.suspend(thread.object()) {
            Err(error) => (Hold::Free, error.0),
            Ok(()) => {
                collections::disable();
                thread.suspension.stopped(thread.cpu_time(jvmti));
                (Hold::Suspended, 0)
            }
        });
    match changed {
        Ok(result) => result,
        Err(Hold::Ended) => INVALID_THREAD,
        Err(_) => IS_SUSPENDED,
    }
}

/// Resumes a thread that `suspend` has suspended.
pub(super) fn resume(env: EnvId) -> Int {
    let (Some(jvmti), Some(thread)) = (layer::jvmti(), other(env)) else {
        return INVALID_THREAD;
    };
    let changed = thread.suspension.change(Hold::Suspended, || {
        collections::enable();
        let resumed = jvmti.resume(thread.object());
        (Hold::Free, resumed.map_or_else(|error| error.0, |()| 0))
    });
    match changed {
        Ok(result) => result,
        Err(Hold::Ended) => INVALID_THREAD,
        Err(_) => NOT_SUSPENDED,
    }
}

/// Returns the status of a thread. A suspension by a profiler does not change the status.
pub(super) fn status(env: EnvId) -> Int {
    let (Some(jvmti), Some(thread)) = (layer::jvmti(), threads::find(env)) else {
        return RUNNABLE;
    };
    let state = jvmti.thread_state(thread.object());
    let waits = thread_state::WAITING | thread_state::SLEEPING | thread_state::PARKED;
    let mut status = if state & thread_state::BLOCKED_ON_MONITOR_ENTER != 0 {
        MONITOR_WAIT
    } else if state & waits != 0 {
        CONDVAR_WAIT
    } else {
        RUNNABLE
    };
    if state & thread_state::SUSPENDED != 0 && !thread.suspension.is_suspended() {
        status |= SUSPENDED;
    }
    if state & thread_state::INTERRUPTED != 0 {
        status |= INTERRUPTED;
    }
    status
}

/// Returns whether a thread waits to enter a monitor.
pub(super) fn waits_to_enter(thread: &Thread) -> bool {
    let state = layer::jvmti().map_or(0, |jvmti| jvmti.thread_state(thread.object()));
    state & thread_state::BLOCKED_ON_MONITOR_ENTER != 0
}

/// Returns 1 if a thread has run since its last suspension, otherwise 0. For a thread that is suspended now, the
/// suspension before the present one counts.
pub(super) fn has_run(env: EnvId) -> u8 {
    let (Some(jvmti), Some(thread)) = (layer::jvmti(), threads::find(env)) else {
        return 0;
    };
    let has_run = if thread.suspension.is_suspended() {
        thread.suspension.ran_between()
    } else {
        thread.cpu_time(jvmti) > thread.suspension.last_time()
    };
    u8::from(has_run)
}
