//! What is left of the program's heap. Asked, not tried: with
//! `-XX:+ExitOnOutOfMemoryError` an allocation that fails ends the JVM, even
//! one of ours.

use std::fs;

use crate::ffi::jni::{Argument, Jni, StaticMethod, Thrown};

/// What a snapshot allocates at once, in bytes and rounded up.
const SNAPSHOT_BYTES: i64 = 128 << 10;

/// The methods that tell.
pub(crate) struct Heap {
    /// Whether the heap is collected by threads of the collector's.
    pub(crate) collects_in_threads: bool,
    free: StaticMethod,
    has_room: StaticMethod,
    collect: StaticMethod,
}

impl Heap {
    /// At `VMStart`: no thread is the program's yet, whose names may be any.
    pub(crate) fn find(jni: Jni<'_>) -> Result<Self, Thrown> {
        let budget = jni.find_class(c"java/lang/$LoadhookBudget")?;
        Ok(Heap {
            collects_in_threads: collects_in_threads(),
            free: jni.static_method(budget, c"free", c"()J")?,
            has_room: jni.static_method(budget, c"hasRoom", c"(J)Z")?,
            collect: jni.static_method(budget, c"collect", c"()V")?,
        })
    }

    /// Whether the program, which runs on, can spare a snapshot. Garbage counts
    /// as used.
    pub(crate) fn can_spare(&self, jni: Jni<'_>) -> bool {
        jni.call_boolean(self.has_room, &[Argument::Long(SNAPSHOT_BYTES)])
            .unwrap_or(false)
    }

    /// Whether there is any room for a snapshot, now that the program has
    /// ended; garbage is collected if need be, and if that can still be done.
    pub(crate) fn can_give(&self, jni: Jni<'_>) -> bool {
        let is_free = || {
            jni.call_long(self.free, &[])
                .is_ok_and(|free| free > SNAPSHOT_BYTES)
        };
        let collect = || jni.call_void(self.collect, &[]).is_ok();
        is_free() || !self.collects_in_threads && collect() && is_free()
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
