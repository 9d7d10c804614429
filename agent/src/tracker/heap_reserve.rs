//! What is left of the program's heap. Asked, not tried: with
//! `-XX:+ExitOnOutOfMemoryError` an allocation that fails ends the JVM, even
//! one of ours.

use std::fs;

use crate::jvm::jni::{Argument, Jni, StaticMethod, Thrown};
use crate::jvm::jvmti::Jvmti;

/// What a snapshot allocates at once, in bytes and rounded up.
const SNAPSHOT_BYTES: i64 = 128 << 10;

/// Bytes of heap that must stay free beside an array for a class.
const ARRAY_BYTES: i64 = 1 << 20;

/// What is kept for the end, in bytes: as much as one of G1's regions has, at
/// the least, and what the array's header takes of it. One of that size has a
/// region of its own, which is free as a whole when the array is.
const KEPT: [i32; 2] = [1 << 20, 24];

/// The same where the heap is in pages, of 2 MB or 32 MB: one for the thread
/// that ends the JVM, and one that is seen to be free. Beyond 4 MB, an array has
/// pages of its own.
const KEPT_IN_PAGES: [i32; 2] = [4 << 20, 0];

/// The methods that tell.
pub(crate) struct Heap {
    /// Whether the heap is collected by threads of the collector's.
    pub(crate) collects_in_threads: bool,
    free: StaticMethod,
    has_room: StaticMethod,
    keep: StaticMethod,
    is_half_free: StaticMethod,
    release: StaticMethod,
}

impl Heap {
    /// At `VMStart`: no thread is the program's yet, whose names may be any.
    pub(crate) fn find(jni: Jni<'_>) -> Result<Self, Thrown> {
        let budget = jni.find_class(c"java/lang/$LoadhookBudget")?;
        Ok(Heap {
            collects_in_threads: collects_in_threads(),
            free: jni.static_method(budget, c"free", c"()J")?,
            has_room: jni.static_method(budget, c"hasRoom", c"(J)Z")?,
            keep: jni.static_method(budget, c"keep", c"(II)V")?,
            is_half_free: jni.static_method(budget, c"isHalfFree", c"()Z")?,
            release: jni.static_method(budget, c"release", c"()V")?,
        })
    }

    /// Whether the program, which runs on, can spare a snapshot. Garbage counts
    /// as used.
    pub(crate) fn can_spare(&self, jni: Jni<'_>) -> bool {
        jni.call_boolean(self.has_room, &[Argument::Long(SNAPSHOT_BYTES)])
            .unwrap_or(false)
    }

    /// Returns whether the heap has room for a short-lived array of so many bytes
    /// without bringing the program near an `OutOfMemoryError`.
    pub(crate) fn has_room_for(&self, jni: Jni<'_>, bytes: usize) -> bool {
        // A heap in regions may not have it in one.
        let needed = ARRAY_BYTES.saturating_add_unsigned(4 * bytes as u64);
        jni.call_long(self.free, &[])
            .is_ok_and(|free| free > needed)
    }

    /// Keeps room for the end of a program whose heap is full then.
    pub(crate) fn keep(&self, jni: Jni<'_>) {
        // Without it, all goes on but that.
        let kept = match self.collects_in_threads {
            true => KEPT_IN_PAGES,
            false => KEPT,
        };
        let _ = jni.call_void(self.keep, &kept.map(Argument::Int));
    }

    /// The first thread ends. The JVM's launcher attaches another to end the
    /// JVM; where no room is left for that one's object, there is no `VMDeath`.
    /// Nothing is collected: who exits in this thread is here behind the end of
    /// a collector's threads.
    pub(crate) fn main_ends(&self, jni: Jni<'_>) {
        let goes_on = jni.call_boolean(self.is_half_free, &[]);
        if !goes_on.unwrap_or(false) {
            self.release(jni);
        }
    }

    fn release(&self, jni: Jni<'_>) {
        // What fails keeps the room; the program has what it had.
        let _ = jni.call_void(self.release, &[]);
    }

    /// Whether there is any room for a snapshot, now that the program has
    /// ended and has back what is kept. If need be, and if it can still be done,
    /// the heap is collected: not by `System.gc`, which options turn off.
    pub(crate) fn can_give(&self, jvmti: Jvmti, jni: Jni<'_>) -> bool {
        self.release(jni);
        let is_free = || {
            jni.call_long(self.free, &[])
                .is_ok_and(|free| free > SNAPSHOT_BYTES)
        };
        is_free() || !self.collects_in_threads && jvmti.collect_garbage().is_ok() && is_free()
    }
}

/// Whether the heap is collected by threads of the collector's, as ZGC and
/// Shenandoah do. Those that drive it are gone before `VMDeath`, and who asks
/// for a collection then waits for ever.
fn collects_in_threads() -> bool {
    let Ok(threads) = fs::read_dir("/proc/self/task") else {
        return false;
    };
    let names = threads.filter_map(|thread| fs::read(thread.ok()?.path().join("comm")).ok());
    // X is ZGC without generations, in JDK 21.
    let workers: [&[u8]; 3] = [b"ZWorker", b"XWorker", b"Shenandoah"];
    names
        .into_iter()
        .any(|name| workers.iter().any(|worker| name.starts_with(worker)))
}
