//! `Thread.sleep` as an event. JVM TI has no event for sleeping, so the native method of `Thread.sleep` is bound to a
//! function of this crate, which calls the JVM's function.
//!
//! A library enables `NativeMethodBind` before the JVM binds its native methods, and passes each function to
//! [`replacement`]. The binding is never undone: a library that has nothing to do any more returns at once.
//!
//! The JVM passes the replacement of one library to the next one, so the second library of Loadhook calls the first. It
//! finds the first one's function by its name.
//!
//! Virtual threads do not call the native method, because for the JVM they do not sleep, but park.

use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::jni::Jni;
use crate::jvmti::Jvmti;
use crate::sys::{Long, Object};

/// The functions that a library runs before and after a sleep. The sleeping thread calls them. A panic in them is
/// caught.
pub trait Sleeps {
    /// A value that is passed from the beginning of a sleep to its end.
    type Begun;

    /// Called before the thread sleeps, for `timeout` at most.
    fn begins(jni: Jni<'_>, timeout: Duration) -> Self::Begun;

    /// Called after the thread has slept for `slept`. The exception of an interrupted sleep is not pending meanwhile.
    fn ends(jni: Jni<'_>, begun: Self::Begun, slept: Duration);
}

/// The JVM's function for `Thread.sleep`, or that of another library of Loadhook; null before it is replaced.
static ORIGINAL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
/// The unit of the argument of [`ORIGINAL`], in nanoseconds.
static UNIT: AtomicU64 = AtomicU64::new(1);
const MILLISECOND: u64 = 1_000_000;

type Sleep = unsafe extern "system" fn(*mut c_void, Object, Long);

/// The function that sleeps for the library's [`Sleeps`].
static SLEEP: OnceLock<Sleep> = OnceLock::new();
/// The name of [`loadhook_sleep`] in each library of Loadhook.
const NAME: &CStr = c"loadhook_sleep";

/// Returns the function that replaces `function`, if `function` is the JVM's for `Thread.sleep`, or that by which
/// another library of Loadhook has replaced it.
pub fn replacement<S: Sleeps>(function: *mut c_void) -> Option<*mut c_void> {
    let is_jvms = || originals().contains(&function.addr());
    if function.is_null() || !is_jvms() && !is_of_other_library(function) {
        return None;
    }
    let before = ORIGINAL.load(Ordering::Acquire);
    if !before.is_null() && before != function && !is_jvms() {
        // The other library may call this one already, and the two must not call each other without end.
        return None;
    }
    let _ = SLEEP.set(sleep::<S>);
    ORIGINAL.store(function, Ordering::Release);
    Some(own_function().cast_mut())
}

fn own_function() -> *const c_void {
    loadhook_sleep as *const c_void
}

/// Returns whether `function` is the [`loadhook_sleep`] of another library.
fn is_of_other_library(function: *const c_void) -> bool {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `found` has room for the result, in which all zeros are valid. A name that is not null ends in a zero
    // byte, and stays while its library is loaded.
    unsafe {
        if libc::dladdr(function, found.as_mut_ptr()) == 0 {
            return false;
        }
        let found = found.assume_init();
        !found.dli_sname.is_null()
            && CStr::from_ptr(found.dli_sname) == NAME
            && found.dli_saddr.cast_const() == function
            && function != own_function()
    }
}

/// Returns the addresses of the JVM's functions for `Thread.sleep`; 0 for a function that this JVM does not have.
fn originals() -> [usize; 2] {
    static FOUND: OnceLock<[usize; 2]> = OnceLock::new();
    *FOUND.get_or_init(|| {
        // Since JDK 21, the argument of both functions is in nanoseconds (JDK-8305092). Earlier JDKs have only
        // `JVM_Sleep`, with milliseconds.
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
    if (1..21).contains(&jvmti.java_version()) {
        UNIT.store(MILLISECOND, Ordering::Release);
    }
    !ORIGINAL.load(Ordering::Acquire).is_null()
}

/// Replaces the native method of `Thread.sleep`. The name makes the function known to other libraries of Loadhook.
///
/// # Safety
/// Called by the JVM, as a native method, after [`replacement`] has returned this function.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn loadhook_sleep(env: *mut c_void, class: Object, time: Long) {
    if let Some(sleep) = SLEEP.get() {
        // SAFETY: the caller's promise.
        unsafe { sleep(env, class, time) }
    }
}

/// Sleeps, and tells `S`.
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
