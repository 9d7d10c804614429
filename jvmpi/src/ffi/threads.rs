//! Threads by their JNI environments, which are their ids.

use std::cell::{Cell, UnsafeCell};
use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU8, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};

use loadhook_jvm::jni::{Field, Jni};
use loadhook_jvm::reference::{Global, Local};

use super::definitions;
use super::layer::{self, MOST_PROFILERS, Profilers};
use super::own::text;
use crate::abi::{Data, EnvId, REQUESTED, ThreadStart, event};

/// The facts about a thread.
pub(super) struct Thread {
    pub(super) env: usize,
    pub(super) object: Global,
    /// Each profiler's storage.
    pub(super) storage: [AtomicPtr<c_void>; MOST_PROFILERS],
    /// The profilers that have got the thread's `THREAD_START`.
    announced: AtomicU8,
    /// True while a profiler has suspended the thread.
    pub(super) is_suspended: AtomicBool,
    /// Processor time at the last suspension and at the one before.
    pub(super) cpu_times: [AtomicI64; 2],
    /// Environment of the thread that owned the monitor that this one waits to enter.
    pub(super) owner: AtomicPtr<c_void>,
    /// Start of the wait that goes on, in nanoseconds.
    pub(super) wait_began: AtomicI64,
    /// True while a profiler is told of an entry or exit. Only the thread itself uses it.
    pub(super) is_told: AtomicBool,
    /// Methods that have sent an entry and no exit. Only the thread itself uses it.
    pub(super) stack: UnsafeCell<Vec<u32>>,
}

// SAFETY: `stack` is used by the thread itself only; the rest may be used by every thread.
unsafe impl Sync for Thread {}
// SAFETY: as above.
unsafe impl Send for Thread {}

/// Threads by environment. The records are never freed, because others may just use one.
static THREADS: RwLock<Option<HashMap<usize, &'static Thread>>> = RwLock::new(None);
/// `Thread.eetop`, the address of the JVM's thread.
static EETOP: OnceLock<Field> = OnceLock::new();
/// The distance from that address to the environment, the same for all threads.
static DISTANCE: OnceLock<isize> = OnceLock::new();

thread_local! {
    static CURRENT: Cell<Option<&'static Thread>> = const { Cell::new(None) };
}

/// The thread with this environment; `None` if it has ended or never was.
pub(super) fn find(env: EnvId) -> Option<&'static Thread> {
    let current = CURRENT.try_with(Cell::get).ok().flatten();
    if let Some(thread) = current.filter(|thread| thread.env == env.addr()) {
        return Some(thread);
    }
    let threads = THREADS.read().unwrap_or_else(PoisonError::into_inner);
    threads.as_ref()?.get(&env.addr()).copied()
}

/// The calling thread.
#[inline]
pub(super) fn current(env: EnvId) -> Option<&'static Thread> {
    let current = CURRENT.try_with(Cell::get).ok().flatten();
    if let Some(thread) = current.filter(|thread| thread.env == env.addr()) {
        return Some(thread);
    }
    let found = find(env);
    let _ = CURRENT.try_with(|current| current.set(found));
    found
}

/// All threads.
pub(super) fn all() -> Vec<&'static Thread> {
    let threads = THREADS.read().unwrap_or_else(PoisonError::into_inner);
    threads.iter().flat_map(HashMap::values).copied().collect()
}

/// Finds out how environments follow from threads. `thread` is the calling one.
pub(super) fn learn(jni: Jni<'_>, thread: Local<'_>) {
    let eetop = jni
        .find_class(c"java/lang/Thread")
        .and_then(|class| jni.field(class, c"eetop", c"J"));
    let Ok(eetop) = eetop else {
        return;
    };
    if let Ok(address) = jni.long_field(thread, eetop) {
        let _ = DISTANCE.set((jni.env.addr() as isize).wrapping_sub(address as isize));
        let _ = EETOP.set(eetop);
    }
}

/// The environment of a platform thread; null if it has none.
pub(super) fn env_of(jni: Jni<'_>, thread: Local<'_>) -> EnvId {
    let (Some(eetop), Some(distance)) = (EETOP.get(), DISTANCE.get()) else {
        return null_mut();
    };
    if thread.is_null() {
        return null_mut();
    }
    match jni.long_field(thread, *eetop) {
        Ok(address) if address != 0 => {
            std::ptr::with_exposed_provenance_mut((address as usize).wrapping_add_signed(*distance))
        }
        _ => null_mut(),
    }
}

/// Adds a thread; nothing happens if it is there.
pub(super) fn add(jni: Jni<'_>, env: EnvId, object: Local<'_>) -> Option<&'static Thread> {
    if env.is_null() {
        return None;
    }
    if let Some(thread) = find(env) {
        return Some(thread);
    }
    let object = super::own::global(jni, object)?;
    let thread: &'static Thread = Box::leak(Box::new(Thread {
        env: env.addr(),
        object,
        storage: [const { AtomicPtr::new(null_mut()) }; MOST_PROFILERS],
        announced: AtomicU8::new(0),
        is_suspended: AtomicBool::new(false),
        cpu_times: [AtomicI64::new(0), AtomicI64::new(0)],
        owner: AtomicPtr::new(null_mut()),
        wait_began: AtomicI64::new(0),
        is_told: AtomicBool::new(false),
        stack: UnsafeCell::new(Vec::new()),
    }));
    let mut threads = THREADS.write().unwrap_or_else(PoisonError::into_inner);
    let by_env = threads.get_or_insert_default();
    Some(*by_env.entry(env.addr()).or_insert(thread))
}

/// Removes the calling thread, which ends.
pub(super) fn remove(jni: Jni<'_>) {
    let _ = CURRENT.try_with(|current| current.set(None));
    let removed = {
        let mut threads = THREADS.write().unwrap_or_else(PoisonError::into_inner);
        threads
            .as_mut()
            .and_then(|threads| threads.remove(&jni.env.addr()))
    };
    if let Some(thread) = removed {
        super::own::delete_global(jni, thread.object);
        // SAFETY: the thread itself runs this, outside of a probe.
        unsafe { *thread.stack.get() = Vec::new() };
    }
}

/// Sends `THREAD_START` to those profilers that want it and have not got it.
pub(super) fn announce(jni: Jni<'_>, thread: &Thread) {
    let wanted = layer::wanted(event::THREAD_START);
    if wanted & !thread.announced.load(Ordering::Relaxed) == 0 {
        return;
    }
    let new = wanted & !thread.announced.fetch_or(wanted, Ordering::SeqCst);
    start_event(jni, thread, new, event::THREAD_START, true);
}

/// Sends the requested `THREAD_START`.
pub(super) fn requested(jni: Jni<'_>, thread: &Thread, to: Profilers) {
    start_event(jni, thread, to, event::THREAD_START | REQUESTED, false);
}

fn start_event(jni: Jni<'_>, thread: &Thread, to: Profilers, event_type: i32, own_env: bool) {
    let Some(jvmti) = layer::jvmti() else {
        return;
    };
    let object = thread.object.local();
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

/// The environment of a thread by its object, which may be an object of another class; null if there is none.
pub(super) fn env_of_object(jni: Jni<'_>, object: Local<'_>) -> EnvId {
    let is_thread = jni
        .find_class(c"java/lang/Thread")
        .is_ok_and(|class| jni.is_instance(object, class));
    if is_thread {
        env_of(jni, object)
    } else {
        null_mut()
    }
}
