//! Starts the agent's own threads and knows them. They are left out of profiles, and are not in the thread groups of
//! the program.

use std::ffi::CStr;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::jvm::jni::{Jni, JniError};
use crate::jvm::jni_calls::Argument;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::reference::{Global, Local};
use crate::jvm::sampling::{own_tid, thread_clock_ns};
use crate::locks::{lock, wait};

/// The threads that the agent has started.
#[derive(Default)]
pub(crate) struct OwnThreads {
    known: Mutex<Vec<Global>>,
    /// The number and times of the threads, shared with the threads. The last action of a thread is to lower the
    /// number; it uses nothing else of the agent afterwards.
    running: Arc<Running>,
}

/// The number of running threads, and the processor time of all threads.
#[derive(Default)]
struct Running {
    count: Mutex<usize>,
    changed: Condvar,
    times: Mutex<Times>,
}

/// The processor time of the threads.
#[derive(Default)]
struct Times {
    /// The system ids of the running threads.
    running: Vec<i32>,
    /// Processor time of the ended threads, in nanoseconds.
    ended_ns: u64,
}

/// Counts one thread as running until it is dropped.
struct Runs(Arc<Running>);

impl Runs {
    fn begin(running: &Arc<Running>) -> Runs {
        *lock(&running.count) += 1;
        Runs(running.clone())
    }

    /// Notes the system id of the counted thread, by which its processor time is read. The counted thread must call
    /// this itself.
    fn note_thread(&self) {
        lock(&self.0.times).running.push(own_tid());
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        let tid = own_tid();
        let mut times = lock(&self.0.times);
        let before = times.running.len();
        times.running.retain(|it| *it != tid);
        if times.running.len() < before {
            times.ended_ns += thread_clock_ns(tid).unwrap_or(0);
        }
        drop(times);
        *lock(&self.0.count) -= 1;
        self.0.changed.notify_all();
    }
}

impl OwnThreads {
    /// Starts a thread. Returns whether it was started.
    ///
    /// The thread is in the JVM's own thread group, because programs count and list the threads of their own groups.
    pub(crate) fn start(
        &self,
        jvmti: Jvmti,
        jni: Jni<'_>,
        name: &CStr,
        body: impl FnOnce(Jni<'_>) + Send + 'static,
    ) -> bool {
        let started = jni.framed(|jni| {
            let class = jni.find_class(c"java/lang/Thread")?;
            let group = jvmti
                .system_thread_group(jni)
                .map_err(|_| JniError::Refused)?;
            let arguments = [group, jni.new_string(name)?].map(Argument::Object);
            let descriptor = c"(Ljava/lang/ThreadGroup;Ljava/lang/String;)V";
            let thread = jni.new_object(class, descriptor, &arguments)?;
            // The thread is noted before it runs, because the JVM sends an event when the thread starts.
            let known = jni.global(thread)?;
            lock(&self.known).push(known);
            let runs = Runs::begin(&self.running);
            let body = move |jni: Jni<'_>| {
                // `runs` is dropped last, also after a panic.
                let runs = runs;
                runs.note_thread();
                body(jni);
            };
            jvmti
                .run_agent_thread(thread, Box::new(body))
                .map_err(|_| JniError::Refused)
        });
        matches!(started, Some(Ok(())))
    }

    /// Returns the processor time that the agent's threads have taken so far.
    pub(crate) fn cpu_time(&self) -> Duration {
        let times = lock(&self.running.times);
        let running = times.running.iter();
        let running_ns: u64 = running.filter_map(|tid| thread_clock_ns(*tid)).sum();
        Duration::from_nanos(times.ended_ns + running_ns)
    }

    /// Waits until at most `remaining` threads run. Returns false if that takes longer than `longest`.
    pub(crate) fn wait_for_ends(&self, remaining: usize, longest: Duration) -> bool {
        let began = Instant::now();
        let mut count = lock(&self.running.count);
        while *count > remaining {
            let Some(left) = longest.checked_sub(began.elapsed()) else {
                return false;
            };
            count = wait(&self.running.changed, count, left);
        }
        true
    }

    /// Deletes the references to the threads.
    pub(crate) fn release(&self, jni: Jni<'_>) {
        let known = std::mem::take(&mut *lock(&self.known));
        for thread in known {
            jni.delete_global(thread);
        }
    }

    /// Returns whether a thread is one of the agent's threads.
    pub(crate) fn contains(&self, jni: Jni<'_>, thread: Local<'_>) -> bool {
        // The list is copied, because no lock is held during a call of the JVM.
        let known = lock(&self.known).clone();
        known.iter().any(|own| jni.is_same(*own, thread))
    }
}
