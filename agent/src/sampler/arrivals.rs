//! Records the starts and ends of threads. The handlers of the JVM's events write the records, and the sampler's thread
//! reads them.

use std::cell::Cell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

use super::vm_threads::run_delay_ns;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::{Global, Local};
use crate::jvm::sampling::{AsyncEngine, SampledThread};
use crate::locks::lock;
use crate::threads::fields::ThreadFields;

/// The serial number of a thread, by the order in which threads were noted. A number is never given to another thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Serial(u64);

/// The next serial number. Threads keep their numbers when an agent leaves, so a later agent must not give the same
/// numbers again.
static NEXT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The serial number of the calling thread.
    static OWN: Cell<Option<Serial>> = const { Cell::new(None) };
}

/// A thread that is sampled from now on.
pub(super) struct Arrival {
    pub(super) serial: Serial,
    /// A reference to the thread. The sampler deletes it at the end.
    pub(super) thread: Global,
    pub(super) id: Option<u64>,
    pub(super) name: String,
    /// The thread's id in the operating system; `None` if it is not known.
    pub(super) tid: Option<u32>,
    /// The time that the thread has spent in the run queue until `at`; `None` if it is not known.
    pub(super) delay_ns: Option<u64>,
    /// The thread as the asynchronous engine knows it; `None` if the engine does not sample it.
    pub(super) sampled: Option<SampledThread>,
    pub(super) at: Instant,
    /// The thread's processor time at `at`.
    pub(super) cpu_ns: u64,
}

#[cfg(test)]
impl Arrival {
    /// Makes a thread that has `number` as its serial number and its Java id.
    pub(super) fn of_test(number: u64) -> Arrival {
        Arrival {
            serial: Serial(number),
            thread: Global::unknown(),
            id: Some(number),
            name: String::new(),
            tid: None,
            delay_ns: None,
            sampled: None,
            at: Instant::now(),
            cpu_ns: 0,
        }
    }
}

/// A thread that has ended.
pub(super) struct Departure {
    pub(super) serial: Serial,
    /// The thread's name at its end.
    pub(super) name: String,
    pub(super) at: Instant,
    /// The thread's whole processor time; `None` if it is not known.
    pub(super) cpu_ns: Option<u64>,
}

/// The start or end of a thread.
pub(super) enum ThreadEvent {
    Started(Arrival),
    Ended(Departure),
}

/// The starts and ends of the program's threads that the sampler's thread has not read yet.
#[derive(Default)]
pub(super) struct Arrivals {
    events: Mutex<Vec<ThreadEvent>>,
    /// Serial numbers of the live threads that were noted, by the threads' Java ids. They keep a thread that starts
    /// while `VMInit` lists all threads from being noted twice: from the list, and by the event of its start.
    known: Mutex<HashMap<u64, Serial>>,
    /// True if no thread reads the events any more.
    is_closed: AtomicBool,
}

/// The way in which a thread is noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The thread is the calling thread.
    Calling,
    /// The thread is another thread, from the list at `VMInit`.
    Listed,
}

impl Arrivals {
    /// Notes a thread.
    pub(super) fn started(
        &self,
        jvmti: Jvmti,
        jni: Jni<'_>,
        fields: &ThreadFields,
        engine: Option<AsyncEngine>,
        thread: Local<'_>,
        found: Found,
    ) {
        if self.is_closed.load(Ordering::Acquire) {
            return;
        }
        let serial = Serial(NEXT.fetch_add(1, Ordering::Relaxed));
        let id = fields.id(jni, thread);
        if let Some(id) = id
            && !self.is_new(id, serial)
        {
            return;
        }
        let Ok(reference) = jni.global(thread) else {
            return;
        };
        let is_calling = found != Found::Listed;
        let name = fields.name(jni, thread);
        let cpu_ns = if is_calling {
            own_cpu_ns().unwrap_or(0)
        } else {
            u64::try_from(jvmti.thread_cpu_time(thread)).unwrap_or(0)
        };
        let sampled = engine.and_then(|engine| engine.thread_started(jni, thread));
        if is_calling {
            OWN.set(Some(serial));
        }
        let tid = is_calling.then(own_tid).flatten();
        // The time is read here because it may not begin at 0: a native thread that attaches has waited for a processor
        // before.
        let delay_ns = tid.and_then(run_delay_ns);
        lock(&self.events).push(ThreadEvent::Started(Arrival {
            serial,
            thread: reference,
            id,
            name,
            tid,
            delay_ns,
            sampled,
            at: Instant::now(),
            cpu_ns,
        }));
    }

    /// Notes the end of the calling thread.
    pub(super) fn ended(
        &self,
        jni: Jni<'_>,
        fields: &ThreadFields,
        engine: Option<AsyncEngine>,
        thread: Local<'_>,
    ) {
        if let Some(engine) = engine {
            engine.thread_ended();
        }
        // The native thread may attach again, as another Java thread.
        let own = OWN.take();
        if let Some(serial) = self.serial_of_ended(own, fields.id(jni, thread)) {
            let name = fields.name(jni, thread);
            lock(&self.events).push(ThreadEvent::Ended(Departure {
                serial,
                name,
                at: Instant::now(),
                cpu_ns: own_cpu_ns(),
            }));
        }
    }

    /// Notes the serial number of a thread, unless its Java id is known already. Returns whether the thread is new.
    fn is_new(&self, id: u64, serial: Serial) -> bool {
        match lock(&self.known).entry(id) {
            Entry::Occupied(_) => false,
            Entry::Vacant(place) => {
                place.insert(serial);
                true
            }
        }
    }

    /// Returns the serial number of the calling thread, which is about to end. `own` is the number that the thread has
    /// noted at its start. A thread that started before `VMInit` has noted none, so its number is found by its Java id.
    fn serial_of_ended(&self, own: Option<Serial>, id: Option<u64>) -> Option<Serial> {
        let listed = id.and_then(|id| lock(&self.known).remove(&id));
        listed.or(own)
    }

    /// Records nothing from now on, because no thread reads the events any more. Returns the references that the caller
    /// must delete.
    pub(super) fn close(&self) -> Vec<Global> {
        self.is_closed.store(true, Ordering::Release);
        lock(&self.known).clear();
        let started = self.take().into_iter().filter_map(|event| match event {
            ThreadEvent::Started(arrival) => Some(arrival.thread),
            ThreadEvent::Ended(_) => None,
        });
        started.collect()
    }

    /// Takes the events since the last call, in their order.
    pub(super) fn take(&self) -> Vec<ThreadEvent> {
        std::mem::take(&mut lock(&self.events))
    }
}

/// Returns the processor time of the calling thread, in nanoseconds.
fn own_cpu_ns() -> Option<u64> {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanos = u64::try_from(time.tv_nsec).ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
}

/// Returns the calling thread's id in the operating system.
pub(super) fn own_tid() -> Option<u32> {
    let link = fs::read_link("/proc/thread-self").ok()?;
    link.file_name()?.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_was_listed_is_known_at_its_end() {
        let arrivals = Arrivals::default();
        let [main, listed] = [Serial(1), Serial(2)];
        assert!(arrivals.is_new(1, main));
        assert!(arrivals.is_new(20, listed));
        assert!(
            !arrivals.is_new(20, Serial(3)),
            "the thread is noted already"
        );
        assert_eq!(arrivals.serial_of_ended(None, Some(20)), Some(listed));
        assert_eq!(arrivals.serial_of_ended(None, Some(20)), None);
        assert_eq!(arrivals.serial_of_ended(Some(main), Some(1)), Some(main));
        assert!(
            arrivals.is_new(1, Serial(4)),
            "a new thread may have the id of an ended one"
        );
    }

    #[test]
    fn a_thread_knows_its_number_and_time() {
        let main = own_tid().expect("the system gives thread ids");
        let other = std::thread::spawn(own_tid)
            .join()
            .expect("the thread did not panic");
        assert_ne!(other, Some(main));
        let before = own_cpu_ns().expect("the clock can be read");
        let mut sum = 0u64;
        while own_cpu_ns().expect("the clock can be read") < before + 1_000_000 {
            sum = std::hint::black_box(sum).wrapping_add(1);
        }
    }
}
