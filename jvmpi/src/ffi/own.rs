//! Helpers that several files use: global references of which no profiler is told, tokens of threads, patient locks,
//! messages, texts and clocks.

use std::cell::Cell;
use std::ffi::CString;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};
use std::thread;
use std::time::Duration;

use loadhook_jvm::jni::Jni;
use loadhook_jvm::jvmti::Jvmti;
use loadhook_jvm::reference::{Global, Local};
use loadhook_text::terminal;

use super::layer;

thread_local! {
    /// True while this thread makes or deletes a reference of the layer.
    static OWN: Cell<bool> = const { Cell::new(false) };
    static TOKEN: Cell<u8> = const { Cell::new(0) };
}

/// Returns a number by which the calling thread is known: no other living thread has the same number.
pub(super) fn token() -> usize {
    TOKEN.with(|token| std::ptr::from_ref(token).addr())
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

/// The longest wait of [`lock_patiently`], in milliseconds.
const PATIENCE: u32 = 100;

/// Takes a lock whose owner calls the JVM while it holds the lock. Returns `None` if the lock is not free in time: a
/// profiler may have suspended the owner.
pub(super) fn lock_patiently<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    for _ in 0..PATIENCE {
        match mutex.try_lock() {
            Ok(held) => return Some(held),
            Err(TryLockError::Poisoned(held)) => return Some(held.into_inner()),
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
        }
    }
    None
}

/// Returns whether this thread makes or deletes a reference of the layer.
pub(super) fn is_own() -> bool {
    OWN.get()
}

/// Returns the version of Java; 0 if it is not known.
pub(super) fn java_version() -> u32 {
    static VERSION: OnceLock<u32> = OnceLock::new();
    *VERSION.get_or_init(|| layer::jvmti().map_or(0, Jvmti::java_version))
}

/// Prints a message of the layer.
pub(super) fn say(message: &str) {
    let message = terminal::message(&format!("loadhook jvmpi: {message}"));
    // A closed standard error is no reason to stop.
    let _ = writeln!(std::io::stderr().lock(), "{message}");
}

/// Makes a C string of the bytes up to the first zero byte. Names have no zero byte.
pub(super) fn text(bytes: &[u8]) -> CString {
    let end = bytes.iter().position(|byte| *byte == 0);
    let bytes = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
    CString::new(bytes).unwrap_or_default()
}

/// Returns the time of a clock that never goes back, in nanoseconds.
pub(super) fn now() -> i64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// Returns the processor time of the calling thread, in nanoseconds.
pub(super) fn cpu_time() -> i64 {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Returns the clock of [`cpu_time`], by which other threads can read the time, too.
pub(super) fn cpu_clock() -> libc::clockid_t {
    let mut id = libc::CLOCK_THREAD_CPUTIME_ID;
    // SAFETY: `id` is written, and the calling thread lives.
    unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut id) };
    id
}

/// Returns the time of a clock, in nanoseconds; 0 if the clock's thread has ended.
pub(super) fn clock(id: libc::clockid_t) -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is written.
    unsafe { libc::clock_gettime(id, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
