//! Checks the free memory in the program's heap, and keeps a reserve for the end of the program.
//!
//! The agent checks the free memory before it allocates. To try the allocation instead is not possible: with
//! `-XX:+ExitOnOutOfMemoryError`, a failed allocation of the agent would end the JVM.

use crate::jvm::jni::{Jni, JniError};
use crate::jvm::jni_calls::{Argument, StaticMethod};
use crate::threads::tasks::Tasks;

/// Bytes of the heap that a snapshot needs at one time, rounded up.
const SNAPSHOT_BYTES: i64 = 128 << 10;

/// Bytes that must stay free beside the array in [`HeapReserve::has_room_for_array`].
const FREE_BESIDE_ARRAY: i64 = 1 << 20;

/// Size of the reserve, and of the header of its array, in bytes. The reserve is as large as the smallest region of G1.
/// So the array fills a whole region, which becomes free when the array is released.
const RESERVE: [i32; 2] = [1 << 20, 24];

/// Size of the reserve, and of the header of its array, in bytes, for a heap in pages of 2 MB or 32 MB. An array of
/// more than 4 MB has separate pages. When it is released, one page is for the thread that ends the JVM, and another
/// page must be free for the collector.
const RESERVE_IN_PAGES: [i32; 2] = [4 << 20, 0];

/// Free bytes of a heap that hardly any program fills within a tenth of a second.
const MUCH: i64 = 1 << 30;

/// The methods of the tracker that return the free memory of the heap, and that allocate and release the reserve.
pub(crate) struct HeapReserve {
    /// True if the garbage collector works in separate threads while the program runs, as ZGC and Shenandoah do.
    pub(crate) has_concurrent_collector: bool,
    free: StaticMethod,
    has_room: StaticMethod,
    keep: StaticMethod,
    is_mostly_free: StaticMethod,
    is_half_free: StaticMethod,
    release: StaticMethod,
}

impl HeapReserve {
    /// Looks up the methods, usually at `VMStart`. At that time the program has no threads yet, so no thread of the
    /// program can be taken for a thread of the collector.
    pub(crate) fn find(jni: Jni<'_>) -> Result<Self, JniError> {
        let budget = jni.find_class(c"java/lang/$LoadhookBudget")?;
        Ok(HeapReserve {
            has_concurrent_collector: has_concurrent_collector(),
            free: jni.static_method(budget, c"free", c"()J")?,
            has_room: jni.static_method(budget, c"hasRoom", c"(J)Z")?,
            keep: jni.static_method(budget, c"keep", c"(II)Z")?,
            is_mostly_free: jni.static_method(budget, c"isMostlyFree", c"()Z")?,
            is_half_free: jni.static_method(budget, c"isHalfFree", c"()Z")?,
            release: jni.static_method(budget, c"release", c"()V")?,
        })
    }

    /// Returns whether the heap has room for a snapshot while the program continues to run. Garbage counts as used
    /// memory.
    pub(crate) fn can_spare_snapshot(&self, jni: Jni<'_>) -> bool {
        jni.call_boolean(self.has_room, &[Argument::Long(SNAPSHOT_BYTES)])
            .unwrap_or(false)
    }

    /// Returns whether the heap has room for a short-lived array of this many bytes, without
    /// bringing the program near an `OutOfMemoryError`.
    pub(crate) fn has_room_for_array(&self, jni: Jni<'_>, bytes: usize) -> bool {
        // In a heap of regions, the largest free piece may be smaller than the free memory. So four times the size is
        // required.
        let needed = FREE_BESIDE_ARRAY.saturating_add_unsigned(4 * bytes as u64);
        jni.call_long(self.free, &[])
            .is_ok_and(|free| free > needed)
    }

    /// Returns whether the program is unlikely to fill the heap within the next tenth of a second. The reserve can then
    /// be allocated later, or never: clearing its memory takes milliseconds, which a short program does not have.
    pub(crate) fn can_wait(&self, jni: Jni<'_>) -> bool {
        jni.call_long(self.free, &[]).is_ok_and(|free| free > MUCH)
            && jni.call_boolean(self.is_mostly_free, &[]).unwrap_or(false)
    }

    /// Allocates the reserve, which is needed if the heap is full when the program ends. Returns false if there is no
    /// room for the reserve now. A later call may succeed.
    pub(crate) fn keep(&self, jni: Jni<'_>) -> bool {
        let reserve = if self.has_concurrent_collector {
            RESERVE_IN_PAGES
        } else {
            RESERVE
        };
        // If this fails, the only effect is that a program that ends with a full heap gets no profile.
        jni.call_boolean(self.keep, &reserve.map(Argument::Int))
            .unwrap_or(false)
    }

    /// Releases the reserve when the main thread ends, unless half of the heap is free.
    ///
    /// The JVM's launcher then attaches another thread, which ends the JVM. If the heap has no room for the object of
    /// this thread, there is no `VMDeath`. No collection is run here, because a thread that calls `System.exit` comes
    /// here after the threads of a concurrent collector have ended.
    pub(crate) fn main_thread_ends(&self, jni: Jni<'_>) {
        let is_half_free = jni.call_boolean(self.is_half_free, &[]);
        if !is_half_free.unwrap_or(false) {
            self.release(jni);
        }
    }

    fn release(&self, jni: Jni<'_>) {
        // If this fails, the reserve stays allocated, and the program has the same room as before.
        let _ = jni.call_void(self.release, &[]);
    }

    /// Releases the reserve, and returns whether the heap has room for a snapshot after the end of the program.
    ///
    /// If there is no room, calls `collect`, which should run a garbage collection, but not by `System.gc`, because
    /// options can turn `System.gc` off. `collect` returns false if it cannot run a collection.
    pub(crate) fn has_room_at_exit(&self, jni: Jni<'_>, collect: impl FnOnce() -> bool) -> bool {
        self.release(jni);
        let has_room = || {
            jni.call_long(self.free, &[])
                .is_ok_and(|free| free > SNAPSHOT_BYTES)
        };
        has_room() || !self.has_concurrent_collector && collect() && has_room()
    }
}

/// Returns whether the garbage collector works in separate threads, as ZGC and Shenandoah do. The threads that control
/// such a collector end before `VMDeath`. A thread that requests a collection after that waits for ever.
pub(crate) fn has_concurrent_collector() -> bool {
    let Some(tasks) = Tasks::own() else {
        return false;
    };
    let names = tasks.ids().into_iter();
    let mut names = names.filter_map(|id| tasks.text(id, "comm"));
    // `XWorker` is a thread of non-generational ZGC in JDK 21.
    let workers = ["ZWorker", "XWorker", "Shenandoah"];
    names.any(|name| workers.iter().any(|worker| name.starts_with(worker)))
}
