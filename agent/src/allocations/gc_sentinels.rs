//! Sentinels: unreachable objects whose disappearance shows which collection has removed older dead
//! objects.
//!
//! The events of ZGC and Shenandoah report pauses, not collections. If ZGC has generations, most
//! collections keep weak references to dead objects. So now and then the agent makes an object that
//! nothing refers to. When a collection has removed this sentinel, every older object that still
//! exists was found alive.
//!
//! No lock is held while the JVM is called, because a thread that is suspended there would keep the
//! lock.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::jvm::jni::Jni;
use crate::jvm::reference::{Global, Weak};
use crate::locks::lock;

/// The maximum number of sentinels. If there are more, every second one is dropped.
const MOST: usize = 256;

/// The sentinels of this JVM.
#[derive(Default)]
pub(super) struct GcSentinels {
    /// Sentinels that no collection has removed, oldest first: the time when each was made, and a weak reference to it.
    /// Time is the number of collections that have ended.
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

    /// Gives back all sentinels.
    pub(super) fn release(&self, jni: Jni<'_>) {
        for (_, weak) in std::mem::take(&mut *lock(&self.left)) {
            jni.delete_weak(weak);
        }
    }

    /// The time up to which liveness is known: an older object that still exists was found alive.
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
