//! Small things that several files need: global references that no profiler is told of, and texts.

use std::cell::Cell;
use std::ffi::CString;

use loadhook_jvm::jni::Jni;
use loadhook_jvm::reference::{Global, Local};

thread_local! {
    /// True while this thread makes or deletes a reference of the layer.
    static OWN: Cell<bool> = const { Cell::new(false) };
}

/// Makes a global reference of the layer.
pub(super) fn global(jni: Jni<'_>, object: Local<'_>) -> Option<Global> {
    OWN.set(true);
    let global = jni.global(object).ok();
    OWN.set(false);
    global
}

/// Deletes a global reference of the layer.
pub(super) fn delete_global(jni: Jni<'_>, global: Global) {
    OWN.set(true);
    jni.delete_global(global);
    OWN.set(false);
}

/// Returns whether this thread makes or deletes a reference of the layer.
pub(super) fn is_own() -> bool {
    OWN.get()
}

/// A C string. A zero byte, which names do not have, ends it.
pub(super) fn text(bytes: &[u8]) -> CString {
    let end = bytes.iter().position(|byte| *byte == 0);
    let bytes = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
    CString::new(bytes).unwrap_or_default()
}

/// Nanoseconds of a clock that never goes back.
pub(super) fn now() -> i64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// Processor time of the calling thread in nanoseconds.
pub(super) fn cpu_time() -> i64 {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn clock(id: libc::clockid_t) -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is written.
    unsafe { libc::clock_gettime(id, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
