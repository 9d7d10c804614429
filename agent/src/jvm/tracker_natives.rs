//! The native methods of the tracker. The JVM finds them in the agent's library by their names, because for classes of
//! the boot loader it searches the libraries of agents. They are not registered by `RegisterNatives`, because JDK 17
//! and later would print a warning.
#![allow(non_snake_case)]

use std::ffi::c_void;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::entry::on_event;
use super::reference::Local;
use super::sys::{Boolean, Int, Long, Object};
use super::vm::clock_environment;
use crate::agent::Agent;
use crate::monitor_events;
use crate::tracker::ticker;

/// Returns the processor time of the calling thread, in nanoseconds.
///
/// # Safety
/// Called by the JVM for `java.lang.$Loadhook.threadCpuNanos()`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024Loadhook_threadCpuNanos(
    _env: *mut c_void,
    _class: Object,
) -> Long {
    clock_environment().map_or(-1, |jvmti| jvmti.current_thread_cpu_time())
}

/// Returns how often the calling thread has waited, in the upper half, and how often it has lost its processor without
/// waiting, in the lower half; -1 if the kernel does not tell. The tracker calls this at ticks.
///
/// # Safety
/// Called by the JVM for `java.lang.$Loadhook.threadSwitches()`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024Loadhook_threadSwitches(
    _env: *mut c_void,
    _class: Object,
) -> Long {
    // SAFETY: all bytes zero are a valid value of the structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the structure outlives the call.
    let failed = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) } != 0;
    if failed {
        return -1;
    }
    // An overflow does no harm, because the tracker only checks whether numbers are equal, and subtracts numbers that
    // are close to each other.
    let waits = usage.ru_nvcsw & 0x7FFF_FFFF;
    waits << 32 | usage.ru_nivcsw & 0xFFFF_FFFF
}

/// Returns the processor time of a thread, in nanoseconds. The tracker calls this when a thread begins, when it ends,
/// and at snapshots.
///
/// # Safety
/// Called by the JVM for `java.lang.$Loadhook.cpuNanos(Thread)`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024Loadhook_cpuNanos(
    _env: *mut c_void,
    _class: Object,
    thread: Object,
) -> Long {
    clock_environment().map_or(-1, |jvmti| jvmti.thread_cpu_time(Local::new(thread)))
}

/// Returns the address at which the tracker reads ticks. The tracker calls this once.
///
/// # Safety
/// Called by the JVM for the initialiser of `java.lang.$LoadhookTicker`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024Loadhook_tickAddress(
    _env: *mut c_void,
    _class: Object,
    now: Long,
) -> Long {
    ticker::address(now)
}

/// Lets the calling thread wait for a moment, before it tries again to take the tracker's lock. `before` is the number
/// of earlier waits. In the first 100 waits, the thread only yields its processor; then it sleeps for a millisecond.
///
/// # Safety
/// Called by the JVM for `java.lang.$Loadhook.nap(int)`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024Loadhook_nap(
    _env: *mut c_void,
    _class: Object,
    before: Int,
) {
    match before {
        ..100 => thread::yield_now(),
        _ => thread::sleep(Duration::from_millis(1)),
    }
}

/// Notes that a thread is about to park. `thread` is null in a call that only links the native method.
///
/// # Safety
/// Called by the JVM for `java.lang.$LoadhookParks.parks(Thread, Object)`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024LoadhookParks_parks(
    env: *mut c_void,
    _class: Object,
    thread: Object,
    blocker: Object,
) {
    let (thread, blocker) = (Local::new(thread), Local::new(blocker));
    if !thread.is_null() {
        // SAFETY: the JVM passes this thread's environment.
        unsafe {
            on_event(env, |agent, jni| {
                monitor_events::parks(agent, jni, thread, blocker)
            })
        }
    }
}

/// Notes that a thread no longer parks. `thread` is null in a call that only links the native method.
///
/// # Safety
/// Called by the JVM for `java.lang.$LoadhookParks.parked(Thread)`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024LoadhookParks_parked(
    env: *mut c_void,
    _class: Object,
    thread: Object,
) {
    let thread = Local::new(thread);
    if !thread.is_null() {
        // SAFETY: the JVM passes this thread's environment.
        unsafe { on_event(env, |agent, jni| monitor_events::parked(agent, jni, thread)) }
    }
}

/// Returns whether the agent writes its own profile to this file.
///
/// # Safety
/// Called by the JVM for `java.lang.$Loadhook.agentClaims(String)`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024Loadhook_agentClaims(
    env: *mut c_void,
    _class: Object,
    file: Object,
) -> Boolean {
    let mut claims = false;
    // SAFETY: the JVM passes this thread's environment and a string or null.
    unsafe {
        on_file(env, file, |agent, file| {
            claims = agent.writer.claims(agent.options(), file);
        });
    }
    Boolean::from(claims)
}

/// Notes the file of a profile that the tracker of a rewritten archive has written.
///
/// # Safety
/// Called by the JVM for `java.lang.$Loadhook.agentNotes(String)`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024Loadhook_agentNotes(
    env: *mut c_void,
    _class: Object,
    file: Object,
) {
    // SAFETY: the JVM passes this thread's environment and a string or null.
    unsafe {
        on_file(env, file, |agent, file| {
            agent.writer.note_other(agent.options(), file);
        });
    }
}

/// Runs `body` with the agent and the path in a Java string, unless the string is null.
///
/// # Safety
/// `env` must be the `JNIEnv` of this thread, and `file` null or a reference to a string that is valid on it.
unsafe fn on_file(env: *mut c_void, file: Object, body: impl FnOnce(&'static Agent, &Path)) {
    // SAFETY: the caller's promise.
    unsafe {
        on_event(env, |agent, jni| {
            if !file.is_null()
                && let Ok(name) = jni.text(Local::new(file))
            {
                body(agent, Path::new(&name));
            }
        })
    }
}

/// Binds again the native method that defines hidden classes. The caller must be Java code of the boot loader.
///
/// # Safety
/// Called by the JVM for `java.lang.$Loadhook.bindDefiner()`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024Loadhook_bindDefiner(
    env: *mut c_void,
    _class: Object,
) {
    // SAFETY: the JVM passes this thread's environment.
    unsafe { on_event(env, |agent, jni| agent.hidden_classes.bind_again(jni)) }
}
