//! Finds the threads that hold the monitors and locks for which other threads wait.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::frames::Names;
use super::sums::Holder;
use crate::instrument::instrumentation::Instrumentation;
use crate::jvm::jni::Jni;
use crate::jvm::reference::Local;

/// The total time that requests for holders may take, even right after the start.
const FREE: Duration = Duration::from_millis(100);

/// In addition to [`FREE`], requests may take one part in `SHARE` of the elapsed time.
const SHARE: u32 = 100;

/// Maximum number of frames of a holder's stack.
const DEPTH: usize = 32;

/// Asks the JVM which thread holds a monitor, and for the stack of this thread. A request for the holder stops all
/// threads at a safepoint, and a request for the stack stops the holder. So if there are many contentions, only some of
/// their holders are requested, and the requests take a hundredth of the time.
pub(super) struct Holders {
    began: Instant,
    /// Nanoseconds that requests have taken so far.
    spent: AtomicU64,
}

impl Holders {
    pub(super) fn new() -> Holders {
        Holders {
            began: Instant::now(),
            spent: AtomicU64::new(0),
        }
    }

    /// Returns the holder that `owner` finds. `None` if there is no holder, or if no time is left for a request.
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
        // The JVM also lists the threads that wait, and there may be many references.
        jni.ensure_local_capacity();
        let holder = owner().filter(|owner| !owner.is_null()).and_then(|owner| {
            let thread = names.holder(jni, owner)?;
            // If a virtual thread is just being mounted or unmounted, a request for its stack waits until this is done.
            // To be mounted or unmounted, the virtual thread may need a monitor which the calling thread holds, for
            // example inside the owner's `interrupt()`. Then both threads would wait for ever.
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
