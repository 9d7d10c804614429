//! `MONITOR_WAIT` and `MONITOR_WAITED` of `Thread.sleep`. JVM TI has no event for sleeping, so the native method of
//! `Thread.sleep` is bound to a function of the layer.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use loadhook_jvm::jni::Jni;
use loadhook_jvm::sys::Object;

use super::layer::{self, Profilers};
use super::own;
use crate::abi::{Data, Int, Long, MonitorWait, event};

/// The JVM's function for `Thread.sleep`.
static ORIGINAL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
/// The unit of the argument of [`ORIGINAL`], in nanoseconds.
static UNIT: AtomicU64 = AtomicU64::new(1);
const MILLISECOND: u64 = 1_000_000;

type Sleep = unsafe extern "system" fn(*mut c_void, Object, Long);

/// Returns the layer's function in place of `function`, if `function` is the JVM's for `Thread.sleep`.
pub(super) fn replacement(function: *mut c_void) -> Option<*mut c_void> {
    // Since JDK 20, the argument of both functions is in nanoseconds. Earlier JDKs have only `JVM_Sleep`, with
    // milliseconds.
    let names = [c"JVM_Sleep", c"JVM_SleepNanos"];
    // SAFETY: the names end in a zero byte; the library is loaded, or nothing happens.
    let is_sleep = unsafe {
        let library = libc::dlopen(c"libjvm.so".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
        !library.is_null()
            && names
                .iter()
                .any(|name| libc::dlsym(library, name.as_ptr()) == function)
    };
    if !is_sleep || function.is_null() {
        return None;
    }
    ORIGINAL.store(function, Ordering::Release);
    Some(sleep as *mut c_void)
}

/// Sets the unit of the JVM's function by the version of the JDK.
pub(super) fn learn() {
    if (1..20).contains(&own::java_version()) {
        UNIT.store(MILLISECOND, Ordering::Release);
    }
}

fn tell(to: Profilers, env: *mut c_void, event_type: Int, nanoseconds: u64) {
    if to != 0 {
        let monitor_wait = MonitorWait {
            object: 0,
            timeout: (nanoseconds / MILLISECOND) as Long,
        };
        // SAFETY: JNI was called with this thread's environment.
        let jni = unsafe { Jni::new(env) };
        // A sleep may end by an exception.
        let id = layer::id(jni);
        jni.without_exception(|| layer::send(to, event_type, id, Data { monitor_wait }));
    }
}

unsafe extern "system" fn sleep(env: *mut c_void, class: Object, time: Long) {
    let began = own::now();
    let unit = UNIT.load(Ordering::Relaxed);
    let wanted = u64::try_from(time).unwrap_or(0).saturating_mul(unit);
    let told = layer::wanted(event::MONITOR_WAIT);
    layer::guarded((), || tell(told, env, event::MONITOR_WAIT, wanted));
    // SAFETY: the JVM's function was kept before this one was bound, and has this type.
    unsafe {
        let original: Sleep = std::mem::transmute(ORIGINAL.load(Ordering::Acquire));
        original(env, class, time);
    }
    let slept = u64::try_from(own::now() - began).unwrap_or(0);
    let to = layer::wanted_after(event::MONITOR_WAITED, event::MONITOR_WAIT, told);
    layer::guarded((), || tell(to, env, event::MONITOR_WAITED, slept));
}
