//! The JVM of this process, and its interfaces.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Once, OnceLock};

use crate::jvmti::Jvmti;
use crate::sys::{self, Capabilities, Int, JNI_OK, JVMTI_VERSION_11, capability, invoke};

/// The JVM of this process; null before the agent is loaded.
static VM: AtomicPtr<sys::Table> = AtomicPtr::new(null_mut());

/// Remembers the JVM for [`new_environment`].
///
/// # Safety
/// `vm` must be the `JavaVM` of the running JVM.
pub unsafe fn set_vm(vm: *mut sys::Table) {
    VM.store(vm, Ordering::Release);
}

/// An environment without events that is never disposed.
///
/// HotSpot has a state of each thread for JVM TI. It does not free the state of a thread that ends while there is no
/// environment (`JavaThread::exit` asks `JvmtiEnv::environments_might_exist`). When events are enabled the next time,
/// HotSpot writes through such a state to the memory of the ended thread, which may belong to anything else by then. So
/// the last agent that leaves must not leave a JVM without an environment.
static KEPT: OnceLock<Jvmti> = OnceLock::new();

/// Returns the environment through which the processor time of threads is read. The environment is never disposed,
/// because the tracker's native methods use it even after the agent has left.
pub fn clock_environment() -> Option<Jvmti> {
    static CLOCKS: Once = Once::new();
    let jvmti = *KEPT.get()?;
    CLOCKS.call_once(|| {
        for clock in [
            capability::CAN_GET_CURRENT_THREAD_CPU_TIME,
            capability::CAN_GET_THREAD_CPU_TIME,
        ] {
            // Without this capability the processor time is unknown.
            let _ = jvmti.add_capabilities(Capabilities::of(&[clock]));
        }
    });
    Some(jvmti)
}

/// Returns whether the JVM has virtual threads (JDK 21 and later).
pub fn has_virtual_threads() -> bool {
    /// `JNI_VERSION_21`.
    const JNI_VERSION: Int = 0x0015_0000;
    let vm = VM.load(Ordering::Acquire);
    // SAFETY: the pointer is the JVM's, which lives as long as the process.
    !vm.is_null() && unsafe { interface(vm, JNI_VERSION) }.is_some()
}

/// Makes a JVM TI environment beside the agent's first one, with events and capabilities of its own.
pub fn new_environment() -> Option<Jvmti> {
    let vm = VM.load(Ordering::Acquire);
    // SAFETY: the pointer is the JVM's, which lives as long as the process.
    (!vm.is_null()).then(|| unsafe { environment(vm) })?
}

/// Makes a JVM TI environment. The first call also makes the one that is never disposed.
///
/// # Safety
/// `vm` must be the `JavaVM` of the running JVM.
pub unsafe fn environment(vm: *mut sys::Table) -> Option<Jvmti> {
    // SAFETY: the caller's promise.
    let make = || unsafe { interface(vm, JVMTI_VERSION_11).map(|env| Jvmti::new(env)) };
    if KEPT.get().is_none() {
        // If two threads are here at once, the JVM has one environment more than it needs.
        let _ = KEPT.set(make()?);
    }
    make()
}

/// Returns the interface of the JVM that has this version number (JNI or JVM TI); `None` if the JVM does not offer it.
///
/// # Safety
/// `vm` must be the `JavaVM` of the running JVM.
pub unsafe fn interface(vm: *mut sys::Table, version: Int) -> Option<*mut c_void> {
    type GetEnv = unsafe extern "system" fn(*mut sys::Table, *mut *mut c_void, Int) -> Int;
    let mut env = null_mut();
    // SAFETY: every invocation table has `GetEnv` at this place.
    unsafe {
        let get_env: GetEnv = std::mem::transmute_copy(&*(*vm).functions.add(invoke::GET_ENV));
        (get_env(vm, &mut env, version) == JNI_OK && !env.is_null()).then_some(env)
    }
}
