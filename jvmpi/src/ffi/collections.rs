//! Reports garbage collections and the ends of objects.
//!
//! The JVM reports both in callbacks that must not call the JVM, and in which a profiler that takes a lock may
//! block the JVM for ever. So the reports are queued, and a thread of the layer sends the events: `GC_START`, an
//! `OBJECT_FREE` for each freed object, `GC_FINISH`. Nothing is sent while a profiler has disabled collections,
//! so that no id becomes invalid meanwhile.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use loadhook_jvm::jni::Jni;
use loadhook_jvm::jni_calls::Argument;
use loadhook_jvm::jvmti::Jvmti;
use loadhook_jvm::reference::Local;

use super::layer::{self, NO_DATA};
use super::{allocations, definitions, own};
use crate::abi::{Data, GcInfo, ObjectId, event};

/// Collections and freed objects whose events were not sent yet.
#[derive(Default)]
struct Queue {
    finished: u32,
    freed: Vec<ObjectId>,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue {
    finished: 0,
    freed: Vec::new(),
});
static WAKE: Condvar = Condvar::new();
/// Number of times that collections were disabled without being enabled again.
static DISABLED: AtomicI32 = AtomicI32::new(0);
static DELIVERING: AtomicBool = AtomicBool::new(false);
static HAS_THREAD: AtomicBool = AtomicBool::new(false);
/// The longest wait for another thread that is sending the events, or for the JVM's thread that reports dead objects.
const PATIENCE: Duration = Duration::from_secs(1);

/// The first version of Java in which a thread of the JVM reports dead objects, some time after the collection.
const REPORTS_LATE: u32 = 16;
/// The tag of a sentinel that has no id. Ids are larger.
const SENTINEL_TAG: ObjectId = 2;
/// If no object is reported as dead for so long after the sentinel, all are reported.
const QUIET: Duration = Duration::from_millis(30);
/// The tag of the sentinel: an object that was dead before a collection, and is not reported yet. 0 if there is none.
static SENTINEL: AtomicUsize = AtomicUsize::new(0);
/// Number of objects that the JVM has reported as dead.
static REPORTED: AtomicU64 = AtomicU64::new(0);
/// Number of collections that have ended.
static ENDED: AtomicU64 = AtomicU64::new(0);

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Queues the end of a collection.
pub(super) fn finished() {
    ENDED.fetch_add(1, Ordering::SeqCst);
    queue().finished += 1;
    WAKE.notify_all();
}

/// Queues the end of the object with this id, if any profiler wants an event about it.
pub(super) fn freed(id: ObjectId) {
    REPORTED.fetch_add(1, Ordering::SeqCst);
    let _ = SENTINEL.compare_exchange(id, 0, Ordering::SeqCst, Ordering::SeqCst);
    if id != SENTINEL_TAG && allocations::is_last_end(id) && needs_ends() {
        queue().freed.push(id);
    }
}

/// Returns whether a profiler has enabled an event for which the ends of objects must be known.
fn needs_ends() -> bool {
    let events = [event::OBJECT_FREE, event::CLASS_UNLOAD, event::GC_FINISH];
    events.iter().any(|event| layer::enabled(*event) != 0)
}

pub(super) fn disable() {
    DISABLED.fetch_add(1, Ordering::SeqCst);
}

pub(super) fn enable() {
    let lowered = DISABLED.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| {
        (count > 0).then_some(count - 1)
    });
    if lowered == Ok(1) {
        // Taking the lock makes sure that the sending thread does not miss the wake-up between reading the count
        // and going to sleep.
        drop(queue());
        WAKE.notify_all();
    }
}

fn is_disabled() -> bool {
    DISABLED.load(Ordering::SeqCst) > 0
}

/// Collects the whole heap, and sends the events of the collection before this function returns.
pub(super) fn run(jni: Jni<'_>) {
    let Some(jvmti) = layer::jvmti().filter(|_| !is_disabled()) else {
        return;
    };
    let is_late = own::java_version() >= REPORTS_LATE && needs_ends();
    if is_late {
        make_sentinel(jni, jvmti);
    }
    let ended = ENDED.load(Ordering::SeqCst);
    if jvmti.collect_garbage().is_ok() {
        // A JVM without collections reports no dead objects.
        if is_late && ENDED.load(Ordering::SeqCst) != ended {
            wait_for_reports();
        }
        deliver(jni);
    }
}

/// Makes an object that nothing refers to, and notes its tag.
fn make_sentinel(jni: Jni<'_>, jvmti: Jvmti) {
    SENTINEL.store(0, Ordering::SeqCst);
    let _ = jni.framed(|jni| {
        let class = jni.find_class(c"java/lang/Object").ok()?;
        let object = jni.alloc_object(class).ok()?;
        let mut tag = jvmti.tag(object).ok()? as ObjectId;
        if tag == 0 {
            jvmti.set_tag(object, SENTINEL_TAG as i64).ok()?;
            tag = SENTINEL_TAG;
        }
        SENTINEL.store(tag, Ordering::SeqCst);
        Some(())
    });
}

/// Waits until the JVM has reported the objects that a collection has found dead. To call a function of JVM TI that
/// waits for the reporting thread would be wrong: HotSpot then keeps the calling thread from safepoints, and the
/// reporting thread may wait for one.
fn wait_for_reports() {
    let began = Instant::now();
    let pause = || {
        std::thread::sleep(Duration::from_millis(1));
        began.elapsed() < PATIENCE
    };
    while SENTINEL.load(Ordering::SeqCst) != 0 && pause() {}
    let mut reported = REPORTED.load(Ordering::SeqCst);
    let mut since = Instant::now();
    while since.elapsed() < QUIET && pause() {
        let now = REPORTED.load(Ordering::SeqCst);
        if now != reported {
            (reported, since) = (now, Instant::now());
        }
    }
}

/// Starts the thread that sends the events. Does nothing if the thread was started before.
pub(super) fn start_thread(jni: Jni<'_>) {
    if HAS_THREAD.swap(true, Ordering::SeqCst) {
        return;
    }
    let Some(jvmti) = layer::jvmti() else {
        return;
    };
    let Some(thread) = new_thread(jni, c"Loadhook JVMPI") else {
        return;
    };
    let _ = jvmti.run_agent_thread(thread, Box::new(send_for_ever));
}

/// Makes a `Thread` that is not started.
pub(super) fn new_thread<'e>(jni: Jni<'e>, name: &CStr) -> Option<Local<'e>> {
    let jvmti = layer::jvmti()?;
    let class = jni.find_class(c"java/lang/Thread").ok()?;
    let group = jvmti.system_thread_group(jni).ok()?;
    let name = jni.new_string(name).ok()?;
    let arguments = [Argument::Object(group), Argument::Object(name)];
    let descriptor = c"(Ljava/lang/ThreadGroup;Ljava/lang/String;)V";
    jni.new_object(class, descriptor, &arguments).ok()
}

fn send_for_ever(jni: Jni<'_>) {
    loop {
        {
            let waiting = |queue: &mut Queue| queue.finished == 0 || is_disabled();
            let _queue = WAKE
                .wait_while(queue(), waiting)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if jni.framed(deliver).is_none() {
            return;
        }
    }
}

/// Sends the events of all collections so far.
pub(super) fn deliver(jni: Jni<'_>) {
    let began = Instant::now();
    while DELIVERING.swap(true, Ordering::SeqCst) {
        if began.elapsed() > PATIENCE {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    deliver_alone(jni);
    DELIVERING.store(false, Ordering::SeqCst);
}

fn deliver_alone(jni: Jni<'_>) {
    if let Some(jvmti) = layer::jvmti() {
        // The JVM reports dead objects late. A search by tag makes it report all dead objects that it knows, if it does
        // not report them by a thread of its own. No object has the tag 1.
        jvmti.object_with_tag(jni, 1);
    }
    if is_disabled() {
        return;
    }
    let Queue { finished, freed } = std::mem::take(&mut *queue());
    let count = finished.max(u32::from(!freed.is_empty()));
    definitions::ALIVE.fetch_sub(freed.len() as i64, Ordering::Relaxed);
    // Read the figures at once: while the profilers receive the events of freed objects, the program makes other
    // objects, and another collection may free those.
    let is_told = count > 0 && layer::wanted(event::GC_FINISH) != 0;
    let mut figures = is_told.then(|| info(jni));
    for id in &freed {
        if let Some(to) = definitions::unloaded(*id) {
            layer::send(
                to,
                event::CLASS_UNLOAD,
                layer::id(jni),
                layer::object_data(*id),
            );
        }
    }
    let mut freed = Some(freed);
    for _ in 0..count {
        let env = layer::id(jni);
        let started = layer::wanted(event::GC_START);
        layer::send(started, event::GC_START, env, NO_DATA);
        for id in freed.take().unwrap_or_default() {
            let to = layer::wanted(event::OBJECT_FREE);
            layer::send(to, event::OBJECT_FREE, env, layer::object_data(id));
        }
        // Profilers take a lock in `GC_START` and release it in `GC_FINISH`. So `GC_FINISH` goes to all profilers
        // that received `GC_START`, and to none that has enabled both events since.
        let to = layer::wanted_after(event::GC_FINISH, event::GC_START, started);
        if to != 0 {
            // There are no figures yet if the first profiler has only just enabled `GC_FINISH`.
            let gc_info = *figures.get_or_insert_with(|| info(jni));
            layer::send(to, event::GC_FINISH, env, Data { gc_info });
        }
    }
}

/// Returns the present figures of the heap, shortly after the end of the collection.
fn info(jni: Jni<'_>) -> GcInfo {
    let announced = match layer::wanted(event::OBJECT_ALLOC) {
        0 => 0,
        _ => definitions::ALIVE.load(Ordering::Relaxed),
    };
    let used_objects = if announced > 0 {
        announced
    } else {
        let counted = layer::jvmti().and_then(|jvmti| jvmti.count_objects().ok());
        counted.unwrap_or(0) as i64
    };
    let space = jni.framed(|jni| {
        let runtime = jni.find_class(c"java/lang/Runtime").ok()?;
        let get = c"()Ljava/lang/Runtime;";
        let get = jni.method_key(runtime, c"getRuntime", get, true).ok()?;
        let runtime = jni.call_static_object(runtime, get).ok()?;
        let total = jni.call_long_method(runtime, c"totalMemory").ok()?;
        let free = jni.call_long_method(runtime, c"freeMemory").ok()?;
        Some((total, total - free))
    });
    let (total_space, used_space) = space.flatten().unwrap_or((0, 0));
    GcInfo {
        used_objects,
        used_space,
        total_space,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_that_no_event_needs_are_forgotten() {
        let id = 0x1_0000;
        allocations::note_second_tag(id);
        freed(id);
        assert!(allocations::is_last_end(id));
        freed(id);
        assert!(queue().freed.is_empty());
    }
}
