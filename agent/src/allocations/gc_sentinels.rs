//! What a collector with threads of its own has told from the dead.
//!
//! ZGC and Shenandoah tell of stops, not of collections, and where ZGC has
//! generations most collections leave the tags of dead objects. So now and then
//! an object is made that nobody refers to: when it is gone, what was made
//! before it and is still there was found alive. No lock is held while the VM is
//! called: a suspended thread would keep it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::jvm::jni::{Jni, Reference};

/// Marks that are kept; of more every second is forgotten.
const MOST: usize = 256;

/// Dead objects, by time.
#[derive(Default)]
pub(super) struct Marks {
    /// Those that no collection has met, oldest first: when they were made, and
    /// a weak reference.
    left: Mutex<Vec<(u32, Reference)>>,
    /// When the last was made of those that are gone.
    gone: AtomicU32,
}

impl Marks {
    fn lock(&self) -> MutexGuard<'_, Vec<(u32, Reference)>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a mark of `now`, of the class `java.lang.Object`.
    pub(super) fn make(&self, jni: Jni<'_>, object: Reference, now: u32) {
        let weak = jni.framed(|| jni.weak(jni.alloc_object(object)?));
        let Some(Ok(weak)) = weak else {
            return;
        };
        let mut forgotten = Vec::new();
        {
            let mut left = self.lock();
            left.push((now, weak));
            if left.len() > MOST {
                let (mut at, all) = (0, std::mem::take(&mut *left));
                (*left, forgotten) = all.into_iter().partition(|_| {
                    at += 1;
                    at % 2 == 0
                });
            }
        }
        for (_, weak) in forgotten {
            jni.delete_weak(weak);
        }
    }

    /// What was made before this time, and is there now, was found alive.
    pub(super) fn gone(&self, jni: Jni<'_>) -> u32 {
        let mut left = std::mem::take(&mut *self.lock());
        let is_gone = |mark: &&(u32, Reference)| jni.is_same(mark.1, Reference::NULL);
        let met = left.iter().take_while(is_gone).count();
        for (made, weak) in left.drain(..met) {
            jni.delete_weak(weak);
            self.gone.fetch_max(made, Ordering::Relaxed);
        }
        self.lock().splice(..0, left);
        self.gone.load(Ordering::Relaxed)
    }
}
