//! Liveness scans, which find out which followed objects are still in the heap.

use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::sample_tables::SampleTables;
use super::samples::{Samples, THREAD_STATE, ThreadState};
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::locks::try_lock;
use crate::tracker::heap_reserve::HeapReserve;

/// The longest wait until another thread has ended its scan. A debugger may have suspended that thread.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

impl Samples {
    /// Makes a sentinel. `now` is the number of collections that have ended.
    pub(super) fn make_sentinel(&self, jni: Jni<'_>, now: u32) {
        if let Some(class) = self.object_class.get() {
            let state = THREAD_STATE.get();
            THREAD_STATE.set(ThreadState {
                is_making_sentinel: true,
                ..state
            });
            self.sentinels.make(jni, *class, now);
            THREAD_STATE.set(state);
        }
    }

    /// Makes a sentinel and runs a collection, for a collector that does not collect in one stop. Must not be called
    /// after the collector's threads have ended.
    pub(super) fn collect_after_sentinel(&self, jvmti: Jvmti, jni: Jni<'_>) {
        // The liveness of objects that are younger than this sentinel stays unknown.
        let now = self.collections.fetch_add(1, Ordering::Relaxed) + 1;
        self.last_sentinel.fetch_max(now, Ordering::Relaxed);
        self.make_sentinel(jni, now);
        let _ = jvmti.collect_garbage();
    }

    /// Makes a sentinel and runs a collection when the JVM is about to end.
    ///
    /// If the heap is full of garbage, a first collection makes room for the sentinel. If the heap is full of live
    /// objects, no sentinel is made: the allocation would end the program with an error that the agent has caused.
    pub(super) fn collect_at_exit(
        &self,
        jvmti: Jvmti,
        jni: Jni<'_>,
        reserve: Option<&HeapReserve>,
    ) {
        let has_room = || reserve.is_some_and(|reserve| reserve.can_spare_snapshot(jni));
        if !has_room() {
            let _ = jvmti.collect_garbage();
        }
        if has_room() {
            self.collect_after_sentinel(jvmti, jni);
        }
    }

    /// Removes the followed objects that are no longer in the heap.
    ///
    /// The event `ObjectFree` is not used, because it can block the JVM for ever. From JDK 17 on, the JVM posts the
    /// event from a thread that a collection may stop. When the JVM ends, and when the event is enabled, the JVM waits
    /// for this thread in a state in which no collection can start. So the JVM, the thread and the collection could
    /// wait for each other.
    pub(super) fn scan(&self, jni: Jni<'_>, _scanning: &MutexGuard<'_, ()>) {
        let now = self.collections.load(Ordering::Relaxed);
        // Other threads may add objects during the scan, but only at the end of the table.
        let references = self.lock().followed.references();
        let gone: Vec<bool> = references.iter().map(|weak| jni.is_gone(*weak)).collect();
        {
            let mut tables = self.lock();
            let SampleTables {
                followed,
                owners,
                schedule,
                ..
            } = &mut *tables;
            followed.bury(&gone, |owner| owners.release(owner));
            schedule.scanned(followed.len(), followed.most(), now);
            let is_full = followed.len() >= followed.most();
            self.is_full.store(is_full, Ordering::Relaxed);
        }
        for (weak, is_gone) in references.into_iter().zip(gone) {
            if is_gone {
                jni.delete_weak(weak);
            }
        }
    }

    /// Runs a scan. If another thread is scanning, waits for it as long as `goes_on` returns true, at most for
    /// [`LONGEST_WAIT`]. Returns false if no scan was run.
    pub(super) fn scan_in_time(&self, jni: Jni<'_>, goes_on: impl Fn() -> bool) -> bool {
        let end = Instant::now() + LONGEST_WAIT;
        loop {
            if let Some(scanning) = try_lock(&self.scanning) {
                self.scan(jni, &scanning);
                return true;
            }
            if Instant::now() >= end || !goes_on() {
                return false;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}
