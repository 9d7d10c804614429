//! Virtual threads as threads of JVMPI (`virtual=threads`).
//!
//! A virtual thread gets a record like a platform thread, and an environment of its own (`virtual_env.rs`) whose
//! address is its id. The JVM tells when a carrier begins and stops running the virtual thread. In between, the
//! carrier's thread of the operating system acts as the virtual thread: events have its id, and its calls and waits go
//! on where they were.

use std::ffi::c_void;

use loadhook_jvm::jni::Jni;
use loadhook_jvm::jvmti::{self, Jvmti};
use loadhook_jvm::reference::Local;
use loadhook_jvm::sys::{JVMTI_ERROR_NOT_AVAILABLE, event};

use super::{contention, layer, methods, own, thread_events, threads, virtual_ids};

/// The first version of Java whose JVM TI has virtual threads.
const VIRTUAL_THREADS: u32 = 21;

/// Enables the events of virtual threads. Does nothing if the JVM has no virtual threads.
pub(super) fn enable(
    jvmti: Jvmti,
    mount: *const c_void,
    unmount: *const c_void,
) -> jvmti::Result<()> {
    if own::java_version() < VIRTUAL_THREADS {
        return Ok(());
    }
    jvmti.notify(event::VIRTUAL_THREAD_START, true)?;
    jvmti.notify(event::VIRTUAL_THREAD_END, true)?;
    for (id, callback) in [
        (c"com.sun.hotspot.events.VirtualThreadMount", mount),
        (c"com.sun.hotspot.events.VirtualThreadUnmount", unmount),
    ] {
        // SAFETY: the callbacks have the parameters of these events, and this library stays loaded.
        if !unsafe { jvmti.set_extension_callback(id, callback) }? {
            return Err(jvmti::Error(JVMTI_ERROR_NOT_AVAILABLE));
        }
    }
    Ok(())
}

/// Lets the calling thread act as the virtual thread that it begins to run. Sends the `THREAD_START` of the virtual
/// thread if need be.
pub(super) fn mounted(jni: Jni<'_>, object: Local<'_>) {
    act_as(jni, object);
}

/// Carries out [`mounted`]. Returns whether the calling thread acts as the virtual thread now. It does not if there is
/// no memory for a record.
fn act_as(jni: Jni<'_>, object: Local<'_>) -> bool {
    let Some(thread) = threads::of_virtual(jni, object) else {
        return false;
    };
    let env = jni.env.cast();
    threads::on_own(env, |own| own.mount(&thread, env));
    if layer::is_running() {
        thread_events::announce(jni, &thread);
    }
    layer::id(jni).addr() == thread.env
}

/// Lets the calling thread act as itself again.
pub(super) fn unmounted(jni: Jni<'_>) {
    threads::on_own(jni.env.cast(), threads::Own::unmount);
}

/// Ends a virtual thread, which the calling thread runs or has just stopped running.
pub(super) fn ended(jni: Jni<'_>, object: Local<'_>) {
    if !act_as(jni, object) {
        // Without this, the code below would end the carrier.
        return;
    }
    methods::thread_ends(jni.env.cast());
    contention::thread_ends(jni);
    thread_events::announce_end(jni);
    virtual_ids::remove(jni, object);
    threads::ended(jni);
}
