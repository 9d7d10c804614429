//! Sentinels: unreachable objects. When a sentinel is gone, a collection has removed all objects that died before the
//! sentinel was made.
//!
//! The events of ZGC and Shenandoah report pauses, not collections. Most collections of generational ZGC do not clear
//! weak references to dead objects. So now and then the agent makes an object to which nothing refers. When a
//! collection has removed this sentinel, the collection has found alive every older object that still exists.
//!
//! No lock is held during a call of the JVM, because the calling thread may be suspended there and would keep the lock.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::jvm::jni::Jni;
use crate::jvm::reference::{Global, Weak};
use crate::locks::lock;

/// The maximum number of sentinels. When it is exceeded, every second sentinel is dropped.
const MOST: usize = 256;

/// The sentinels of this JVM.
#[derive(Default)]
pub(super) struct GcSentinels {
    /// Sentinels that no collection has removed, oldest first. A pair has the time at which the sentinel was made, and
    /// a weak reference to the sentinel. Time is the number of collections that have ended.
    left: Mutex<Vec<(u32, Weak)>>,
    /// The time of the youngest sentinel that a collection has removed.
    gone: AtomicU32,
}

impl GcSentinels {
    /// Makes a sentinel at the time `now`. `class` is `java.lang.Object`.
    pub(super) fn make(&self, jni: Jni<'_>, class: Global, now: u32) {
        let weak = jni.framed(|jni| jni.weak(jni.alloc_object(class)?));
        let Some(Ok(weak)) = weak else {
            return;
        };
        let mut dropped = Vec::new();
        {
            let mut left = lock(&self.left);
            left.push((now, weak));
            if left.len() > MOST {
                let (mut at, all) = (0, std::mem::take(&mut *left));
                (*left, dropped) = all.into_iter().partition(|_| {
                    at += 1;
                    at % 2 == 0
                });
            }
        }
        for (_, weak) in dropped {
            jni.delete_weak(weak);
        }
    }

    /// Deletes the references to all sentinels.
    pub(super) fn release(&self, jni: Jni<'_>) {
        for (_, weak) in std::mem::take(&mut *lock(&self.left)) {
            jni.delete_weak(weak);
        }
    }

    /// Returns the time up to which liveness is known: every object that was made earlier and still exists was found
    /// alive by a collection.
    pub(super) fn judged(&self, jni: Jni<'_>) -> u32 {
        let mut left = std::mem::take(&mut *lock(&self.left));
        let gone = left
            .iter()
            .take_while(|(_, weak)| jni.is_gone(*weak))
            .count();
        for (made, weak) in left.drain(..gone) {
            jni.delete_weak(weak);
            self.gone.fetch_max(made, Ordering::Relaxed);
        }
        lock(&self.left).splice(..0, left);
        self.gone.load(Ordering::Relaxed)
    }
}
