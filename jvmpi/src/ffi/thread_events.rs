//! `THREAD_START` and `THREAD_END`.

use std::sync::atomic::Ordering;

use loadhook_jvm::jni::Jni;

use super::announcing::{self, Sending, of_end, of_thread};
use super::definitions;
use super::layer::{self, Profilers};
use super::own::text;
use super::thread_record::Thread;
use super::threads;
use crate::abi::{Data, EnvId, REQUESTED, ThreadStart, event};

/// Sends `THREAD_START` to those profilers that want it and have not got it.
pub(super) fn announce(jni: Jni<'_>, thread: &Thread) {
    let wanted = layer::wanted(event::THREAD_START);
    if wanted & !thread.announced.load(Ordering::SeqCst) != 0 {
        let _sending = announcing::begin_thread(thread.env);
        let new = wanted & !thread.announced.fetch_or(wanted, Ordering::SeqCst);
        start_event(jni, thread, new, event::THREAD_START, true);
    }
    announcing::wait_for(of_thread(thread.env));
}

/// Sends the `THREAD_END` of the calling thread. A profiler that wants `THREAD_START` and has not got it gets neither
/// event.
pub(super) fn announce_end(jni: Jni<'_>) {
    let env = layer::id(jni);
    let Some(thread) = threads::find(env) else {
        return;
    };
    // From now on, no other thread sends the `THREAD_START`. A thread that is sending it comes to its end first.
    let told = thread.announced.swap(Profilers::MAX, Ordering::SeqCst);
    announcing::wait_for(of_thread(thread.env));
    // A dump may be naming this thread.
    announcing::wait_for(of_end(thread.env));
    let to = layer::wanted_after(event::THREAD_END, event::THREAD_START, told);
    if to != 0 {
        let thread_start = ThreadStart {
            name: c"".as_ptr(),
            group: c"".as_ptr(),
            parent: c"".as_ptr(),
            thread: definitions::id_of(jni, thread.object()),
            env,
        };
        layer::send(to, event::THREAD_END, env, Data { thread_start });
    }
}

/// Makes other threads wait before their `THREAD_END` until the returned value is dropped, but not longer than the
/// patience of `announcing.rs`, which begins when the first thread waits.
pub(super) fn hold_ends() -> Sending {
    announcing::begin_all(of_end(0), usize::MAX)
}

/// Returns whether profilers may be shown a thread: its `THREAD_START` was sent to those that want this event, and its
/// `THREAD_END` has not begun.
pub(super) fn is_known(thread: &Thread, to: Profilers) -> bool {
    let told = thread.announced.load(Ordering::SeqCst);
    let wanted = layer::wanted(event::THREAD_START) & to;
    let is_begun = told != Profilers::MAX && wanted & !told == 0;
    // Another thread may still be sending the `THREAD_START`. Only then is there a reason to wait: a dump asks this of
    // all threads, and holds up those that end meanwhile.
    is_begun && (wanted == 0 || announcing::wait_for(of_thread(thread.env)))
}

/// Sends the requested `THREAD_START`.
pub(super) fn requested(jni: Jni<'_>, thread: &Thread, to: Profilers) {
    start_event(jni, thread, to, event::THREAD_START | REQUESTED, false);
}

fn start_event(jni: Jni<'_>, thread: &Thread, to: Profilers, event_type: i32, own_env: bool) {
    let Some(jvmti) = layer::jvmti().filter(|_| to != 0) else {
        return;
    };
    let object = thread.object();
    let id = definitions::id_of_thread(jni, object);
    let names = jvmti.thread_names(object).unwrap_or_default();
    let (name, group, parent) = (text(&names.name), text(&names.group), text(&names.parent));
    let env: EnvId = std::ptr::with_exposed_provenance_mut(thread.env);
    let data = ThreadStart {
        name: name.as_ptr(),
        group: group.as_ptr(),
        parent: parent.as_ptr(),
        thread: id,
        env,
    };
    let sender = if own_env { env } else { layer::id(jni) };
    layer::send(to, event_type, sender, Data { thread_start: data });
}
