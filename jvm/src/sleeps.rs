//! `Thread.sleep` as an event. JVM TI has no event for sleeping, so the native method of `Thread.sleep` is bound to a
//! function of this crate, which calls the JVM's function.
//!
//! A library enables `NativeMethodBind` before the JVM binds its native methods, and passes each function to
//! [`replacement`]. The binding is never undone: a library that has nothing to do any more returns at once.
//!
//! Virtual threads do not call the native method, because for the JVM they do not sleep, but park.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::jni::Jni;
use crate::jvmti::Jvmti;
use crate::sys::{Long, Object};

/// What a library does when a thread sleeps. The thread itself calls these functions. A panic in them is caught.
pub trait Sleeps {
    /// A value that is passed from the beginning of a sleep to its end.
    type Begun;

    /// Called before the thread sleeps, for `timeout` at most.
    fn begins(jni: Jni<'_>, timeout: Duration) -> Self::Begun;

    /// Called after the thread has slept for `slept`. The exception of an interrupted sleep is not pending meanwhile.
    fn ends(jni: Jni<'_>, begun: Self::Begun, slept: Duration);
}

/// The JVM's function for `Thread.sleep`; null before it is replaced.
static ORIGINAL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
/// The unit of the argument of [`ORIGINAL`], in nanoseconds.
static UNIT: AtomicU64 = AtomicU64::new(1);
const MILLISECOND: u64 = 1_000_000;

type Sleep = unsafe extern "system" fn(*mut c_void, Object, Long);

/// Returns the function that replaces `function`, if `function` is the JVM's for `Thread.sleep`.
pub fn replacement<S: Sleeps>(function: *mut c_void) -> Option<*mut c_void> {
    if function.is_null() || !originals().contains(&function.addr()) {
        return None;
    }
    ORIGINAL.store(function, Ordering::Release);
    Some(sleep::<S> as *mut c_void)
}

/// Returns the addresses of the JVM's functions for `Thread.sleep`; 0 for a function that this JVM does not have.
fn originals() -> [usize; 2] {
    static FOUND: OnceLock<[usize; 2]> = OnceLock::new();
    *FOUND.get_or_init(|| {
        // Since JDK 20, the argument of both functions is in nanoseconds. Earlier JDKs have only `JVM_Sleep`, with
        // milliseconds.
        let names = [c"JVM_Sleep", c"JVM_SleepNanos"];
        // SAFETY: the names end in a zero byte; the library is loaded, or nothing happens.
        unsafe {
            let library = libc::dlopen(c"libjvm.so".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
            if library.is_null() {
                return [0; 2];
            }
            names.map(|name| libc::dlsym(library, name.as_ptr()).addr())
        }
    })
}

/// Sets the unit of the JVM's function by the version of Java, when the JVM is initialised. Returns whether sleeps are
/// seen.
pub fn learn(jvmti: Jvmti) -> bool {
    if (1..20).contains(&jvmti.java_version()) {
        UNIT.store(MILLISECOND, Ordering::Release);
    }
    !ORIGINAL.load(Ordering::Acquire).is_null()
}

/// Replaces the native method of `Thread.sleep`.
unsafe extern "system" fn sleep<S: Sleeps>(env: *mut c_void, class: Object, time: Long) {
    let unit = UNIT.load(Ordering::Relaxed);
    let timeout = u64::try_from(time).unwrap_or(0).saturating_mul(unit);
    let timeout = Duration::from_nanos(timeout);
    // SAFETY: the JVM passes this thread's environment.
    let jni = unsafe { Jni::new(env) };
    let began = Instant::now();
    let begun = catch_unwind(AssertUnwindSafe(|| S::begins(jni, timeout)));
    // SAFETY: the JVM's function was kept before this one was bound, and has this type.
    unsafe {
        let original: Sleep = std::mem::transmute(ORIGINAL.load(Ordering::Acquire));
        original(env, class, time);
    }
    let slept = began.elapsed();
    if let Ok(begun) = begun {
        let _ = catch_unwind(AssertUnwindSafe(|| {
            jni.without_exception(|| S::ends(jni, begun, slept));
        }));
    }
}
