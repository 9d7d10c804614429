//! The numbers by which probes name methods, and the method id for each number.
//!
//! The methods of a class get numbers before the class exists. Their ids are known when the class is prepared, which is
//! before its methods run. The stack of a method's first call also shows its id, but a stack cannot be taken
//! everywhere: while a virtual thread is being mounted it runs methods of the JDK, and taking a stack there would wait
//! for ever.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use loadhook_jvm::jni::Jni;
use loadhook_jvm::jvmti::{Jvmti, MethodKey};
use loadhook_jvm::reference::Local;

use super::layer;

/// Ids of methods by number. Each event reads one. The system gives memory only to those pages that are written.
static IDS: [AtomicPtr<c_void>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];
/// The largest number of methods that can have a number. It bounds the layer's memory. Numbers of unloaded methods are
/// not given again.
pub(super) const MOST: usize = 1 << 24;

static NEXT: AtomicU32 = AtomicU32::new(0);
/// The number of each method whose id is known. The method keeps its number when its class is retransformed, so that
/// numbers are not used up.
static NUMBERS: Mutex<Option<HashMap<MethodKey, u32>>> = Mutex::new(None);

/// The name and the descriptor of a method.
type Name = (Vec<u8>, Vec<u8>);

/// A method of a class file: its number, name and descriptor.
type Numbered = (u32, Name);

/// The methods of a class file whose class gets probes.
#[derive(Default)]
pub(super) struct Methods {
    /// The numbers of those methods that have one already.
    known: HashMap<Name, u32>,
    new: Vec<Numbered>,
}

impl Methods {
    /// Collects the known numbers of the methods of `class`, which is null if the class does not exist yet.
    pub(super) fn of(class: Local<'_>) -> Self {
        let ids = layer::jvmti()
            .filter(|_| !class.is_null())
            .and_then(|jvmti| ids_by_name(jvmti, class));
        let numbers = numbers();
        let number = |id: &MethodKey| numbers.as_ref()?.get(id).copied();
        let ids = ids.unwrap_or_default().into_iter();
        Methods {
            known: ids
                .filter_map(|(name, id)| Some((name, number(&id)?)))
                .collect(),
            new: Vec::new(),
        }
    }

    /// Returns the number of a method; `None` if there are too many methods.
    pub(super) fn number(&mut self, name: &[u8], descriptor: &[u8]) -> Option<u32> {
        let name = (name.to_vec(), descriptor.to_vec());
        if let Some(number) = self.known.get(&name) {
            return Some(*number);
        }
        let number = next_number()?;
        self.new.push((number, name));
        Some(number)
    }
}

/// The name of a class and the hash of its loader.
type Key = (Vec<u8>, i32);

/// The methods of classes that are not prepared yet. A key may have several lists: if two threads define the class at
/// the same time, each adds a list, but one definition fails.
static WAITING: Mutex<Option<HashMap<Key, Vec<Vec<Numbered>>>>> = Mutex::new(None);

/// Gives a method a number; `None` if there are too many methods.
fn next_number() -> Option<u32> {
    let next = |number: u32| ((number as usize) < MOST).then_some(number + 1);
    let number = NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    number.ok()
}

/// Returns the id of a method by its number; `None` if it is not known.
#[inline]
pub(super) fn id(number: u32) -> Option<*mut c_void> {
    let id = IDS.get(number as usize)?.load(Ordering::Relaxed);
    (!id.is_null()).then_some(id)
}

fn numbers() -> MutexGuard<'static, Option<HashMap<MethodKey, u32>>> {
    NUMBERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Finds the ids of the new methods of a class file. If the class does not exist yet, or is not prepared, the methods
/// wait for [`prepared`].
pub(super) fn add(class: Local<'_>, loader: Local<'_>, name: &[u8], methods: Methods) {
    let methods = methods.new;
    let Some(jvmti) = layer::jvmti().filter(|_| !methods.is_empty()) else {
        return;
    };
    if class.is_null() || !resolve(jvmti, class, &methods) {
        let key = (name.to_vec(), hash(jvmti, loader));
        let mut waiting = waiting();
        let lists = waiting.get_or_insert_default().entry(key).or_default();
        lists.push(methods);
    }
}

/// Finds the ids of the waiting methods of a class that has been prepared.
pub(super) fn prepared(jni: Jni<'_>, class: Local<'_>) {
    let Some(jvmti) = layer::jvmti() else {
        return;
    };
    let signature = jvmti.class_signature(class).unwrap_or_default();
    let [b'L', name @ .., b';'] = signature.as_slice() else {
        return;
    };
    let loader = jvmti.class_loader(jni, class).unwrap_or(Local::NULL);
    let key = (name.to_vec(), hash(jvmti, loader));
    let lists = waiting().as_mut().and_then(|waiting| waiting.remove(&key));
    for methods in lists.unwrap_or_default() {
        resolve(jvmti, class, &methods);
    }
}

fn waiting() -> MutexGuard<'static, Option<HashMap<Key, Vec<Vec<Numbered>>>>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hash(jvmti: Jvmti, loader: Local<'_>) -> i32 {
    if loader.is_null() {
        0
    } else {
        jvmti.hash_code(loader)
    }
}

/// Notes the ids of methods. Returns false if the class is not prepared, and so has no ids yet.
fn resolve(jvmti: Jvmti, class: Local<'_>, methods: &[Numbered]) -> bool {
    let Some(ids) = ids_by_name(jvmti, class) else {
        return false;
    };
    let mut numbers = numbers();
    let numbers = numbers.get_or_insert_default();
    for (number, name) in methods {
        if let (Some(place), Some(id)) = (IDS.get(*number as usize), ids.get(name)) {
            place.store(id.0, Ordering::Relaxed);
            numbers.insert(*id, *number);
        }
    }
    true
}

/// Returns the ids of the methods of a class; `None` if the class is not prepared.
fn ids_by_name(jvmti: Jvmti, class: Local<'_>) -> Option<HashMap<Name, MethodKey>> {
    let ids = jvmti.class_methods(class)?.into_iter();
    Some(
        ids.filter_map(|id| Some((jvmti.method_name(id).ok()?, id)))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end() {
        let mut methods = Methods::default();
        NEXT.store(MOST as u32 - 1, Ordering::Relaxed);
        assert_eq!(methods.number(b"last", b"()V"), Some(MOST as u32 - 1));
        assert_eq!(methods.number(b"none", b"()V"), None);
        assert_eq!(methods.number(b"none", b"()V"), None);
        assert_eq!(id(MOST as u32), None);
    }
}
