//! `MONITOR_CONTENDED_ENTER`, `MONITOR_CONTENDED_ENTERED` and `MONITOR_CONTENDED_EXIT`.
//!
//! JVM TI does not report that a thread leaves a monitor for which others wait. So the layer notes the last known owner
//! of each such monitor: the owner when the first thread began to wait, then each thread that has waited and entered.
//! The owner's exit is sent by the first of these threads:
//!
//! - the next one that enters after a wait, since the owner has left by then;
//! - the owner itself, before it waits for this monitor or another one, or ends, because the next thread usually enters
//!   after that. Then a profiler would get the exit of a thread that waits, or has ended.
//!
//! A thread that enters without waiting is not reported. So its exit is lost, unless another thread begins to wait
//! meanwhile and asks for the owner.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use loadhook_jvm::jni::Jni;
use loadhook_jvm::reference::Local;

use super::announcing::{self, Sending, of_end, of_exit};
use super::layer::{self, Profilers};
use super::thread_record::{Entering, Thread};
use super::{definitions, threads, virtual_ids};
use crate::abi::{EnvId, ObjectId, event};

/// Monitors for which threads wait, by the ids of their objects.
static MONITORS: Mutex<BTreeMap<ObjectId, Contended>> = Mutex::new(BTreeMap::new());
/// Number of times that all waits were forgotten. Changed with the lock of [`MONITORS`].
static GENERATION: AtomicU64 = AtomicU64::new(0);
/// The JVM looks for the monitors that a thread owns in so many frames at most.
const MOST_FRAMES: usize = 1024;

/// A monitor for which threads wait.
#[derive(Default)]
struct Contended {
    /// Number of threads that wait.
    waiting: usize,
    /// Number of those of which the profilers have been told.
    told: usize,
    /// Number of waits that have ended while others went on.
    ended: usize,
    owner: Owner,
}

/// The last known owner of a monitor.
#[derive(Default)]
enum Owner {
    #[default]
    Unknown,
    /// The thread has owned the monitor while profilers knew of a wait, which goes on. Its exit has not been sent.
    Seen(Weak<Thread>),
    /// The thread with this environment sends, or has sent, its own exit. No other exit is sent until a wait ends.
    Gone(usize),
}

impl Owner {
    fn of(thread: &Arc<Thread>) -> Owner {
        Owner::Seen(Arc::downgrade(thread))
    }

    fn is(&self, thread: &Arc<Thread>) -> bool {
        matches!(self, Owner::Seen(owner) if owner.as_ptr() == Arc::as_ptr(thread))
    }
}

fn monitors() -> MutexGuard<'static, BTreeMap<ObjectId, Contended>> {
    MONITORS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn generation() -> u64 {
    GENERATION.load(Ordering::SeqCst)
}

/// Forgets all waits, whose ends were not noted while the events were disabled.
pub(super) fn forget() {
    let threads = threads::all();
    let mut monitors = monitors();
    monitors.clear();
    GENERATION.fetch_add(1, Ordering::SeqCst);
    for thread in &threads {
        thread.is_entering.store(false, Ordering::SeqCst);
    }
}

/// Sends the events of the calling thread, which waits to enter a monitor.
pub(super) fn waits(jni: Jni<'_>, object: Local<'_>) {
    let env = layer::id(jni);
    let Some(own) = threads::find(env) else {
        return;
    };
    let id = definitions::id_of(jni, object);
    send_own_exits(jni, &own, id);
    let is_counted = layer::wanted(event::MONITOR_CONTENDED_EXIT) != 0;
    let is_ended = is_counted || layer::enabled(event::MONITOR_CONTENDED_ENTERED) != 0;
    let (generation, began) = begin(&own, id, is_counted, is_ended);
    let owner = began.and_then(|_| find_owner(jni, object));
    // Another thread may still be sending an earlier exit of this thread.
    announcing::wait_for(of_exit(own.env));
    let told = layer::wanted(event::MONITOR_CONTENDED_ENTER);
    // Otherwise nothing would remove the record.
    if is_ended {
        let entering = Entering {
            monitor: id,
            generation,
            told,
            is_counted,
        };
        threads::on_own(jni.env.cast(), |own| {
            own.entering.borrow_mut().begin(entering);
        });
    }
    // A profiler may enter a monitor before it returns, and the calling thread may have to wait for that one, too.
    let data = layer::object_data(id);
    layer::send(told, event::MONITOR_CONTENDED_ENTER, env, data);
    if is_counted && let Some(ended) = note_told(id, generation, began, owner) {
        note_owner(id, generation, ended, find_owner(jni, object));
    }
}

/// Sends the exits of the calling thread that have not been sent: from the monitor `wanted`, which it waits to enter,
/// and from others that it does not own any more.
fn send_own_exits(jni: Jni<'_>, own: &Arc<Thread>, wanted: ObjectId) {
    let seen = seen(own);
    let has_others = seen.iter().any(|id| *id != wanted);
    let owned = if has_others { owned(jni) } else { None };
    for id in seen {
        let has_left = || owned.as_ref().is_some_and(|owned| !owned.contains(&id));
        if id == wanted || has_left() {
            send_own_exit(own, id);
        }
    }
}

/// Returns the ids of the monitors that the calling thread owns; `None` if the JVM may not tell all of them.
fn owned(jni: Jni<'_>) -> Option<Vec<ObjectId>> {
    let jvmti = layer::jvmti()?;
    let owned = jni.framed(|jni| {
        // Not null, see `stacks.rs`.
        let current = jvmti.current_thread(jni).ok()?;
        if jvmti.stack_trace_of(current, MOST_FRAMES).len() >= MOST_FRAMES {
            return None;
        }
        let monitors = jvmti.owned_monitors(jni, current).ok()?;
        // Monitors for which threads wait have ids. The others get none here, because that would send events.
        let ids = monitors.into_iter().filter_map(|it| jvmti.tag(it).ok());
        Some(ids.map(|id| id as ObjectId).collect::<Vec<_>>())
    });
    owned.flatten()
}

/// Sends the exits of the calling thread, which ends.
pub(super) fn thread_ends(jni: Jni<'_>) {
    if let Some(own) = threads::find(layer::id(jni)) {
        for id in seen(&own) {
            send_own_exit(&own, id);
        }
    }
}

/// Returns the monitors whose last known owner is this thread.
fn seen(own: &Arc<Thread>) -> Vec<ObjectId> {
    let monitors = monitors();
    let seen = monitors.iter().filter(|(_, it)| it.owner.is(own));
    seen.map(|(id, _)| *id).collect()
}

/// Sends the exit of the calling thread, unless another thread has sent it meanwhile.
fn send_own_exit(own: &Arc<Thread>, id: ObjectId) {
    let sending = {
        let mut monitors = monitors();
        let monitor = monitors.get_mut(&id).filter(|it| it.owner.is(own));
        let Some(monitor) = monitor else {
            return;
        };
        monitor.owner = Owner::Gone(own.env);
        announcing::begin(of_exit(own.env))
    };
    send_exit(own, id);
    drop(sending);
}

/// Notes that a thread begins to wait for a monitor, and whether its `MONITOR_CONTENDED_ENTERED` will be seen. Returns
/// the generation of the wait; if the owner of the monitor is not known, also the number of ended waits.
fn begin(
    own: &Arc<Thread>,
    id: ObjectId,
    is_counted: bool,
    is_ended: bool,
) -> (u64, Option<usize>) {
    let mut monitors = monitors();
    let generation = generation();
    if is_ended {
        own.is_entering.store(true, Ordering::SeqCst);
    }
    if !is_counted {
        return (generation, None);
    }
    let monitor = monitors.entry(id).or_default();
    monitor.waiting += 1;
    let is_unknown = matches!(monitor.owner, Owner::Unknown);
    (generation, is_unknown.then_some(monitor.ended))
}

/// Asks the JVM for the owner of a monitor for which the calling thread waits.
fn find_owner(jni: Jni<'_>, object: Local<'_>) -> Option<Arc<Thread>> {
    let usage = layer::jvmti()?.monitor_threads(jni, object).ok()?;
    // At some moments JDK 21 names the carrier of the virtual thread that owns the monitor.
    if virtual_ids::are_used() && is_carrier(jni, usage.owner) {
        return None;
    }
    threads::find(threads::env_of(jni, usage.owner))
}

/// Returns whether a thread, which may be null, is one of the JDK's that run virtual threads.
fn is_carrier(jni: Jni<'_>, thread: Local<'_>) -> bool {
    let signature = || {
        let class = jni.class_of(thread).ok()?;
        layer::jvmti()?.class_signature(class).ok()
    };
    !thread.is_null() && signature().is_some_and(|it| it == b"Ljdk/internal/misc/CarrierThread;")
}

/// Notes that profilers have been told of a wait, and the owner that was found when `ended` waits had ended. If the
/// owner is still not known since others have ended meanwhile, returns their number. Does nothing if the wait, whose
/// generation is `of`, was forgotten.
fn note_told(
    id: ObjectId,
    of: u64,
    ended: Option<usize>,
    owner: Option<Arc<Thread>>,
) -> Option<usize> {
    let mut monitors = monitors();
    let monitor = monitors.get_mut(&id).filter(|_| generation() == of)?;
    monitor.told += 1;
    let now = monitor.ended;
    if !matches!(monitor.owner, Owner::Unknown) {
        return None;
    }
    if ended != Some(now) {
        return Some(now);
    }
    monitor.owner = owner.as_ref().map_or(Owner::Unknown, Owner::of);
    None
}

/// Notes the owner that was found when `ended` waits had ended, unless others have ended since or the wait, whose
/// generation is `of`, was forgotten.
fn note_owner(id: ObjectId, of: u64, ended: usize, owner: Option<Arc<Thread>>) {
    let mut monitors = monitors();
    if let (Some(monitor), Some(owner)) = (monitors.get_mut(&id), &owner)
        && generation() == of
        && matches!(monitor.owner, Owner::Unknown)
        && monitor.ended == ended
    {
        monitor.owner = Owner::of(owner);
    }
}

/// Sends the events of the calling thread, which has entered a monitor after a wait.
pub(super) fn entered(jni: Jni<'_>, object: Local<'_>) {
    let env = layer::id(jni);
    let Some(own) = threads::find(env) else {
        return;
    };
    let id = definitions::id_of(jni, object);
    let ended = threads::on_own(jni.env.cast(), |own| {
        let mut waits = own.entering.borrow_mut();
        (waits.end(id, generation()), waits.generation())
    });
    let (ended, outer) = ended.unwrap_or_default();
    let left = end(&own, id, ended, outer);
    // If there is no record of the wait, the wait began before the first profiler enabled this event or the exits.
    let Some(Entering { told, .. }) = ended else {
        return;
    };
    match &left {
        Left::Nobody | Left::Late(_) => {}
        Left::Gone(owner) => {
            announcing::wait_for(of_exit(*owner));
        }
        Left::Owner(owner, _marks) => send_exit(owner, id),
    }
    drop(left);
    let (first, second) = (
        event::MONITOR_CONTENDED_ENTER,
        event::MONITOR_CONTENDED_ENTERED,
    );
    let to = layer::wanted_after(second, first, told);
    layer::send(to, second, env, layer::object_data(id));
}

/// The thread that has left a monitor before another one has entered it.
enum Left {
    /// No known thread.
    Nobody,
    /// A thread whose exit would come too late. The record is dropped without the lock of [`MONITORS`].
    Late(#[allow(dead_code, reason = "held for its drop")] Arc<Thread>),
    /// The thread with this environment, which sends its exit itself.
    Gone(usize),
    /// A thread whose exit is to be sent. Its `THREAD_END` and `MONITOR_CONTENDED_ENTER` wait until the marks are
    /// dropped.
    Owner(Arc<Thread>, [Sending; 2]),
}

/// Notes that a thread has entered a monitor after a wait. `outer` is the generation of a wait that goes on, within
/// which this one was. Returns the thread that has left the monitor.
fn end(own: &Arc<Thread>, id: ObjectId, ended: Option<Entering>, outer: Option<u64>) -> Left {
    let mut monitors = monitors();
    let present = generation();
    own.is_entering
        .store(outer == Some(present), Ordering::SeqCst);
    let is_counted = ended.is_some_and(|it| it.is_counted && it.generation == present);
    let Some(monitor) = monitors.get_mut(&id).filter(|_| is_counted) else {
        return Left::Nobody;
    };
    monitor.waiting = monitor.waiting.saturating_sub(1);
    monitor.told = monitor.told.saturating_sub(1);
    monitor.ended += 1;
    let now = match monitor.told {
        0 => Owner::Unknown,
        _ => Owner::of(own),
    };
    let is_own = monitor.owner.is(own);
    let before = std::mem::replace(&mut monitor.owner, now);
    if monitor.waiting == 0 {
        monitors.remove(&id);
    }
    match before {
        Owner::Seen(owner) if !is_own => owner.upgrade().map_or(Left::Nobody, left),
        Owner::Gone(env) => Left::Gone(env),
        _ => Left::Nobody,
    }
}

/// Returns `owner` for its exit, unless the exit would come too late. To be called with the lock of [`MONITORS`], so
/// that no thread begins to wait meanwhile.
fn left(owner: Arc<Thread>) -> Left {
    let marks = [of_end, of_exit].map(|of| announcing::begin(of(owner.env)));
    // The owner's `THREAD_END` may have been sent although the owner's record still exists.
    let is_alive = owner.announced.load(Ordering::SeqCst) != Profilers::MAX;
    if is_alive && !owner.is_entering.load(Ordering::SeqCst) {
        return Left::Owner(owner, marks);
    }
    Left::Late(owner)
}

/// Sends the exit of a thread.
fn send_exit(thread: &Thread, id: ObjectId) {
    let env: EnvId = std::ptr::with_exposed_provenance_mut(thread.env);
    let to = layer::wanted(event::MONITOR_CONTENDED_EXIT);
    let data = layer::object_data(id);
    layer::send(to, event::MONITOR_CONTENDED_EXIT, env, data);
}
