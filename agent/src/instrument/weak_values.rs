//! Values that belong to objects of the program and go with them.
//!
//! An object is found by its identity hash and told from others of that hash by
//! a weak reference, which does not keep it. No lock is held while the VM is
//! called: a suspended thread would keep it.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::jvm::jni::{Jni, Reference};
use crate::jvm::jvmti::Jvmti;

/// So many objects are looked through for those that are gone; later twice as
/// many as were left.
const FIRST_CROWD: usize = 256;

/// Objects with a value each.
pub(crate) struct Mortal<T> {
    state: Mutex<State<T>>,
}

struct State<T> {
    /// Weak references and values, by identity hash.
    all: HashMap<i32, Vec<(Reference, T)>>,
    len: usize,
    /// How many were ever added.
    added: u64,
    crowd: usize,
    is_swept: bool,
    /// Threads that hold copies of weak references.
    readers: usize,
    /// References to be freed when there is no reader.
    freed: Vec<Reference>,
}

impl<T> Default for Mortal<T> {
    fn default() -> Self {
        Mortal {
            state: Mutex::new(State {
                all: HashMap::new(),
                len: 0,
                added: 0,
                crowd: FIRST_CROWD,
                is_swept: false,
                readers: 0,
                freed: Vec::new(),
            }),
        }
    }
}

impl<T: Copy> Mortal<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // After a panic a reference may stay for ever, no more.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value of an object, if it has one, and how many were ever added.
    fn find(&self, jni: Jni<'_>, object: Reference, hash: i32) -> (Option<T>, u64) {
        let (candidates, added) = {
            let mut state = self.lock();
            let Some(found) = state.all.get(&hash) else {
                return (None, state.added);
            };
            let found = found.clone();
            state.readers += 1;
            (found, state.added)
        };
        let is_it = |(weak, _): &&(Reference, T)| jni.is_same(*weak, object);
        let value = candidates.iter().find(is_it).map(|(_, value)| *value);
        self.lock().readers -= 1;
        (value, added)
    }

    /// The value of an object, if it has one.
    pub(crate) fn get(&self, jvmti: Jvmti, jni: Jni<'_>, object: Reference) -> Option<T> {
        self.find(jni, object, jvmti.hash_code(object)).0
    }

    /// The value of an object, made when it is seen first. `make` may run
    /// though another thread is faster.
    pub(crate) fn get_or_make(
        &self,
        jvmti: Jvmti,
        jni: Jni<'_>,
        object: Reference,
        make: impl FnOnce() -> T,
    ) -> T {
        let hash = jvmti.hash_code(object);
        let (found, mut known) = self.find(jni, object, hash);
        if let Some(found) = found {
            return found;
        }
        let value = make();
        // Without memory for one it has a new value each time.
        let Ok(weak) = jni.weak(object) else {
            return value;
        };
        loop {
            {
                let mut state = self.lock();
                if state.added == known {
                    state.added += 1;
                    state.len += 1;
                    state.all.entry(hash).or_default().push((weak, value));
                    return value;
                }
            }
            // Another object may have come, or this one.
            let (found, added) = self.find(jni, object, hash);
            if let Some(found) = found {
                jni.delete_weak(weak);
                return found;
            }
            known = added;
        }
    }

    /// The values of objects that are gone, each once. They are looked for now
    /// and then: most calls return none at once.
    pub(crate) fn gone(&self, jni: Jni<'_>) -> Vec<T> {
        let all: Vec<Reference> = {
            let mut state = self.lock();
            if state.len < state.crowd || state.is_swept {
                return Vec::new();
            }
            state.is_swept = true;
            state.readers += 1;
            let all = state.all.values().flatten();
            all.map(|(weak, _)| *weak).collect()
        };
        let is_gone = |weak: &Reference| jni.is_same(*weak, Reference::NULL);
        let gone: HashSet<Reference> = all.into_iter().filter(is_gone).collect();
        let mut values = Vec::with_capacity(gone.len());
        let freed = {
            let mut state = self.lock();
            state.all.retain(|_, same_hash| {
                same_hash.retain(|(weak, value)| {
                    let is_gone = gone.contains(weak);
                    if is_gone {
                        values.push(*value);
                    }
                    !is_gone
                });
                !same_hash.is_empty()
            });
            state.len -= values.len();
            state.crowd = FIRST_CROWD.max(2 * state.len);
            state.is_swept = false;
            state.readers -= 1;
            state.freed.extend(gone);
            match state.readers {
                0 => std::mem::take(&mut state.freed),
                _ => Vec::new(),
            }
        };
        for weak in freed {
            jni.delete_weak(weak);
        }
        values
    }
}
