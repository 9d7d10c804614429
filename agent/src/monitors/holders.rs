//! The threads that hold monitors and locks for which others wait.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::frames::Names;
use super::sums::Holder;
use crate::instrument::instrumentation::Instrumentation;
use crate::jvm::jni::Jni;
use crate::jvm::reference::Local;

/// Time that asking may take, whatever the program takes.
const FREE: Duration = Duration::from_millis(100);

/// Asking may take one part in `SHARE` of the elapsed time.
const SHARE: u32 = 100;

/// Maximum number of frames of a holder.
const DEPTH: usize = 32;

/// Asks the JVM who holds a monitor, and where the holder is. For a monitor all threads stop at a safepoint, and for a
/// stack its thread does. So with many contentions only some are asked for: as many as take a hundredth of the time.
pub(super) struct Holders {
    began: Instant,
    /// Nanoseconds that asking has taken.
    spent: AtomicU64,
}

impl Holders {
    pub(super) fn new() -> Holders {
        Holders {
            began: Instant::now(),
            spent: AtomicU64::new(0),
        }
    }

    /// The holder that `owner` finds; `None` if there is none, or if it is not asked for.
    pub(super) fn ask<'f>(
        &self,
        instrumentation: &Instrumentation,
        jni: Jni<'f>,
        names: &Names,
        owner: impl FnOnce() -> Option<Local<'f>>,
    ) -> Option<Holder> {
        let begun = Instant::now();
        let may_take = FREE + begun.saturating_duration_since(self.began) / SHARE;
        if Duration::from_nanos(self.spent.load(Ordering::Relaxed)) > may_take {
            return None;
        }
        // The JVM also lists the threads that wait, and there may be many.
        jni.ensure_local_capacity();
        let holder = owner().filter(|owner| !owner.is_null()).and_then(|owner| {
            let thread = names.holder(jni, owner)?;
            // For the stack of a virtual thread that is just being mounted or unmounted, the JVM waits until it is. That
            // takes a monitor, which this thread may hold, for example inside of the owner's `interrupt()`. Then both
            // would wait for ever.
            let frames = if names.is_virtual(jni, owner) {
                Vec::new()
            } else {
                instrumentation.jvmti.stack_trace_of(owner, DEPTH)
            };
            names.keep(instrumentation, jni, &frames);
            Some(Holder {
                thread,
                frames: names.outside_of_locks(&frames).into(),
            })
        });
        let took = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.spent.fetch_add(took, Ordering::Relaxed);
        holder
    }
}
