//! The records of threads.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loadhook_jvm::jvmti::Jvmti;
use loadhook_jvm::reference::{Global, Local};

use super::calls::Calls;
use super::cpu_time::Meter;
use super::layer::{self, MOST_PROFILERS, Profilers};
use super::own;
use super::suspension::Suspension;
use super::virtual_env::VirtualEnv;
use crate::abi::ObjectId;

/// The record of a thread. Each user holds an `Arc` of it, so the reference to the thread's object lives until the last
/// use.
pub(super) struct Thread {
    pub(super) env: usize,
    object: Global,
    /// Each profiler's storage.
    pub(super) storage: [AtomicPtr<c_void>; MOST_PROFILERS],
    /// The profilers that have got the thread's `THREAD_START`.
    pub(super) announced: AtomicU8,
    /// True from the thread's first `MONITOR_CONTENDED_ENTER` to its last `MONITOR_CONTENDED_ENTERED`, see [`Waits`].
    /// Changed with the lock of `contention.rs`.
    pub(super) is_entering: AtomicBool,
    /// The state of the thread's suspension by profilers.
    pub(super) suspension: Suspension,
    /// The part that only a virtual thread has.
    pub(super) virtual_part: Option<Box<Virtual>>,
}

impl Thread {
    /// Makes the record of a thread that no profiler knows yet.
    pub(super) fn new(env: usize, object: Global, virtual_part: Option<Box<Virtual>>) -> Self {
        Thread {
            env,
            object,
            storage: [const { AtomicPtr::new(null_mut()) }; MOST_PROFILERS],
            announced: AtomicU8::new(0),
            is_entering: AtomicBool::new(false),
            suspension: Suspension::default(),
            virtual_part,
        }
    }

    /// Returns the thread's object.
    pub(super) fn object(&self) -> Local<'_> {
        self.object.local()
    }

    /// Returns whether the thread is a virtual thread.
    pub(super) fn is_virtual(&self) -> bool {
        self.virtual_part.is_some()
    }

    /// Returns the thread's processor time in nanoseconds.
    pub(super) fn cpu_time(&self, jvmti: Jvmti) -> i64 {
        match &self.virtual_part {
            Some(part) => part.meter.read(),
            None => jvmti.thread_cpu_time(self.object()),
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(jni) = layer::current_jni() {
            own::delete_global(jni, self.object);
        }
    }
}

/// The part of a record that only a virtual thread has.
pub(super) struct Virtual {
    pub(super) env: VirtualEnv,
    pub(super) meter: Meter,
    /// The thread's state while no carrier runs it.
    aside: Mutex<Aside>,
}

/// The state of a thread that another thread's state has replaced in `threads::Own`.
#[derive(Default)]
pub(super) struct Aside {
    pub(super) record: Option<Arc<Thread>>,
    pub(super) calls: Calls,
    pub(super) beginning: u32,
    pub(super) entering: Waits,
    pub(super) waiting: Option<Waiting>,
}

impl Virtual {
    /// Makes the part of a thread that no carrier runs yet.
    pub(super) fn new() -> Self {
        Virtual {
            env: VirtualEnv::new(),
            meter: Meter::default(),
            aside: Mutex::default(),
        }
    }

    /// Returns the address of the thread's environment.
    pub(super) fn env(&self) -> usize {
        self.env.id()
    }

    /// Locks the state of the thread while no carrier runs it.
    pub(super) fn aside(&self) -> MutexGuard<'_, Aside> {
        self.aside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread's `Object.wait`.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    /// The profilers that have got `MONITOR_WAIT`.
    pub(super) told: Profilers,
    /// The start, in nanoseconds.
    pub(super) began: i64,
}

/// A thread's wait to enter a monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entering {
    /// The id of the monitor's object.
    pub(super) monitor: ObjectId,
    /// The number of times that `contention.rs` had forgotten all waits when this one began.
    pub(super) generation: u64,
    /// The profilers that have got `MONITOR_CONTENDED_ENTER`.
    pub(super) told: Profilers,
    /// True if the wait counts for the monitor's owner, see `contention.rs`.
    pub(super) is_counted: bool,
}

/// A thread's waits to enter monitors, the innermost one last. A profiler that is told of a wait may have to wait for
/// another monitor before it returns.
#[derive(Default)]
pub(super) struct Waits(Vec<Entering>);

impl Waits {
    pub(super) const fn new() -> Self {
        Waits(Vec::new())
    }

    /// Adds a wait. Waits of other generations are forgotten.
    pub(super) fn begin(&mut self, entering: Entering) {
        self.0.retain(|it| it.generation == entering.generation);
        self.0.push(entering);
    }

    /// Removes the innermost wait for a monitor, and the waits within it. Returns `None` if there is none of this
    /// generation.
    pub(super) fn end(&mut self, monitor: ObjectId, generation: u64) -> Option<Entering> {
        let waits = &mut self.0;
        let place = waits
            .iter()
            .rposition(|it| (it.monitor, it.generation) == (monitor, generation))?;
        let ended = waits[place];
        waits.truncate(place);
        Some(ended)
    }

    /// Returns the generation of the innermost wait.
    pub(super) fn generation(&self) -> Option<u64> {
        self.0.last().map(|it| it.generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(monitor: ObjectId, generation: u64) -> Entering {
        Entering {
            monitor,
            generation,
            told: 1,
            is_counted: true,
        }
    }

    #[test]
    fn waits_nest() {
        let mut waits = Waits::new();
        waits.begin(wait(16, 0));
        waits.begin(wait(32, 0));
        waits.begin(wait(16, 0));
        assert_eq!(waits.end(16, 0), Some(wait(16, 0)));
        assert_eq!(waits.end(32, 0), Some(wait(32, 0)));
        assert_eq!(waits.generation(), Some(0));
        assert_eq!(waits.end(16, 0), Some(wait(16, 0)));
        assert_eq!(waits.generation(), None);
    }

    #[test]
    fn a_wait_ends_in_its_generation_only() {
        let mut waits = Waits::new();
        waits.begin(wait(16, 0));
        assert_eq!(waits.end(16, 1), None);
        waits.begin(wait(32, 1));
        assert_eq!(waits.end(16, 0), None);
        assert_eq!(waits.end(16, 1), None);
        assert_eq!(waits.end(32, 1), Some(wait(32, 1)));
        assert_eq!(waits.generation(), None);
    }
}
