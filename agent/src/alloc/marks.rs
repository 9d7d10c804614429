//! What a collector with threads of its own has told from the dead.
//!
//! ZGC and Shenandoah tell of stops, not of collections, and where they have
//! generations most collections leave the tags of dead objects. So now and then
//! an object is made that nobody refers to: when it is gone, what was made
//! before it and is still there was found alive.

use std::sync::{Mutex, TryLockError};

use crate::ffi::jni::{Jni, Reference};

/// Marks that are kept; of more every second is forgotten.
const MOST: usize = 256;

/// Dead objects, by time.
#[derive(Default)]
pub(super) struct Marks {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Those that no collection has met, oldest first: when they were made, and
    /// a weak reference.
    left: Vec<(u32, Reference)>,
    /// When the last was made of those that are gone.
    gone: u32,
}

impl Marks {
    /// Makes a mark of `now`, of the class `java.lang.Object`; another time if
    /// a thread is at it, which may be suspended.
    pub(super) fn make(&self, jni: Jni<'_>, object: Reference, now: u32) {
        self.with(|state| {
            let weak = jni.framed(|| jni.weak(jni.alloc_object(object)?));
            if let Some(Ok(weak)) = weak {
                state.left.push((now, weak));
            }
            if state.left.len() > MOST {
                let mut keep = false;
                state.left.retain(|(_, weak)| {
                    keep = !keep;
                    if !keep {
                        jni.delete_weak(*weak);
                    }
                    keep
                });
            }
        });
    }

    /// What was made before this time, and is there, was found alive.
    pub(super) fn gone(&self, jni: Jni<'_>) -> Option<u32> {
        self.with(|state| {
            while let Some((made, weak)) = state.left.first().copied()
                && jni.is_same(weak, Reference::NULL)
            {
                jni.delete_weak(weak);
                state.left.remove(0);
                state.gone = made;
            }
            state.gone
        })
    }

    fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> Option<T> {
        match self.state.try_lock() {
            Ok(mut state) => Some(f(&mut state)),
            Err(TryLockError::Poisoned(state)) => Some(f(&mut state.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}
