//! The conditions under which a callback of JVM TI does its work.

use std::ffi::c_void;

use loadhook_jvm::jni::Jni;
use loadhook_jvm::reference::Local;
use loadhook_jvm::sys::Object;

use super::layer::guarded;
use super::{own, threads};

/// Runs `body` with the thread's JNI environment, and keeps a panic from the JVM.
///
/// # Safety
/// `env` must be the `JNIEnv` of this thread.
pub(super) unsafe fn on_event(env: *mut c_void, body: impl FnOnce(Jni<'_>)) {
    // SAFETY: the caller's promise.
    let jni = unsafe { Jni::new(env) };
    guarded((), || jni.without_exception(|| body(jni)));
}

/// Prepares a callback for the local references of the code that has caused the event: code that retransforms classes
/// holds a reference to each class. Before JDK 21, `-Xcheck:jni` counts these references in the callback, and warns. A
/// frame of the callback's own would not help, because the references are counted again when that frame is popped. A
/// pending exception stays.
///
/// # Safety
/// `env` must be the `JNIEnv` of this thread, or null.
pub(super) unsafe fn expect_references(env: *mut c_void) {
    if !env.is_null() && own::java_version() < 21 {
        // SAFETY: the caller's promise.
        unsafe { Jni::new(env) }.ensure_local_capacity();
    }
}

/// Runs `body` if the thread has sent `THREAD_START` and not yet `THREAD_END`. A profiler must not get events of a
/// thread outside of this time. An object that the thread allocates outside of it is announced when an event first
/// refers to it.
///
/// # Safety
/// `env` must be the `JNIEnv` of this thread.
pub(super) unsafe fn on_thread(env: *mut c_void, body: impl FnOnce(Jni<'_>)) {
    if threads::is_started(env) {
        // SAFETY: the caller's promise.
        unsafe { on_event(env, body) }
    }
}

/// Like [`on_thread`], but for events of waiting. From JDK 24 on, a virtual thread that waits leaves its carrier and
/// may continue on another one. Then no carrier waits, and `body` is not run, because profilers know only carriers.
///
/// # Safety
/// `env` must be the `JNIEnv` of this thread, and `thread` a reference to this thread or to the virtual thread that it
/// carries.
pub(super) unsafe fn on_waiting_thread(
    env: *mut c_void,
    thread: Object,
    body: impl FnOnce(Jni<'_>),
) {
    // SAFETY: the caller's promise.
    unsafe {
        on_thread(env, |jni| {
            if !threads::has_left_carrier(jni, Local::new(thread)) {
                body(jni);
            }
        });
    }
}
