//! Records the starts and ends of threads. Events of the JVM write the records; the sampler's thread reads them.

use std::cell::Cell;
use std::collections::HashSet;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::{Global, Local};
use crate::jvm::sampling::{AsyncEngine, ThreadNumber};
use crate::locks::lock;
use crate::threads::fields::ThreadFields;

/// The number of a thread among all that have started. A number is never given to another thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Serial(u64);

thread_local! {
    /// The serial number of the calling thread.
    static OWN: Cell<Option<Serial>> = const { Cell::new(None) };
}

/// A thread that is sampled from now on.
pub(super) struct Arrival {
    pub(super) serial: Serial,
    /// A reference to the thread, which the sampler deletes at the end.
    pub(super) thread: Global,
    pub(super) id: Option<u64>,
    pub(super) name: String,
    /// The thread's id in the operating system; `None` if it is not known.
    pub(super) tid: Option<u32>,
    /// The thread's number in the asynchronous engine; `None` if the engine does not sample the thread.
    pub(super) number: Option<ThreadNumber>,
    pub(super) at: Instant,
    /// The thread's processor time at `at`.
    pub(super) cpu_ns: u64,
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

/// Start or end of a thread.
pub(super) enum ThreadEvent {
    Started(Arrival),
    Ended(Departure),
}

/// The starts and ends of the program's threads that the sampler's thread has not read yet.
#[derive(Default)]
pub(super) struct Arrivals {
    events: Mutex<Vec<ThreadEvent>>,
    /// Java ids of the live threads that were noted. A thread that starts while `VMInit` lists all threads is in the
    /// list and has an event too.
    known: Mutex<HashSet<u64>>,
    next: AtomicU64,
}

impl Arrivals {
    /// Notes a thread: the calling one when it starts, or another one at `VMInit`.
    pub(super) fn started(
        &self,
        jvmti: Jvmti,
        jni: Jni<'_>,
        fields: &ThreadFields,
        engine: Option<AsyncEngine>,
        thread: Local<'_>,
        is_calling: bool,
    ) {
        let id = fields.id(jni, thread);
        if let Some(id) = id
            && !lock(&self.known).insert(id)
        {
            return;
        }
        let Ok(reference) = jni.global(thread) else {
            return;
        };
        let name = fields.name(jni, thread);
        let cpu_ns = if is_calling {
            own_cpu_ns().unwrap_or(0)
        } else {
            u64::try_from(jvmti.thread_cpu_time(thread)).unwrap_or(0)
        };
        let number = engine.and_then(|engine| engine.thread_started(jni, thread));
        let serial = Serial(self.next.fetch_add(1, Ordering::Relaxed));
        if is_calling {
            OWN.set(Some(serial));
        }
        lock(&self.events).push(ThreadEvent::Started(Arrival {
            serial,
            thread: reference,
            id,
            name,
            tid: is_calling.then(own_tid).flatten(),
            number,
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
        if let Some(id) = fields.id(jni, thread) {
            lock(&self.known).remove(&id);
        }
        // The native thread may attach again, as another Java thread.
        if let Some(serial) = OWN.take() {
            let name = fields.name(jni, thread);
            lock(&self.events).push(ThreadEvent::Ended(Departure {
                serial,
                name,
                at: Instant::now(),
                cpu_ns: own_cpu_ns(),
            }));
        }
    }

    /// The events since the last call, in their order.
    pub(super) fn take(&self) -> Vec<ThreadEvent> {
        std::mem::take(&mut lock(&self.events))
    }
}

/// The processor time of the calling thread.
fn own_cpu_ns() -> Option<u64> {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanos = u64::try_from(time.tv_nsec).ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
}

/// The calling thread's id in the operating system.
pub(super) fn own_tid() -> Option<u32> {
    let link = fs::read_link("/proc/thread-self").ok()?;
    link.file_name()?.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_knows_its_number_and_time() {
        let main = own_tid().expect("a number");
        let other = std::thread::spawn(own_tid).join().expect("no panic");
        assert_ne!(other, Some(main));
        let before = own_cpu_ns().expect("a clock");
        let mut sum = 0u64;
        while own_cpu_ns().expect("a clock") < before + 1_000_000 {
            sum = std::hint::black_box(sum).wrapping_add(1);
        }
    }
}
