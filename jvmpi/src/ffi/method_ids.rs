//! The numbers by which probes name methods, and the method id for each number.
//!
//! The methods of a class get numbers before the class exists. Their ids are known when the class is prepared, which is
//! before its methods run. The stack of a method's first call also shows its id, but a stack cannot be taken
//! everywhere: while a virtual thread is being mounted it runs methods of the JDK, and taking a stack there would wait
//! for ever.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use loadhook_jvm::jni::Jni;
use loadhook_jvm::jvmti::{Jvmti, MethodKey};
use loadhook_jvm::reference::Local;

use super::layer;

/// The id of a method; null while it is not known.
type Id = AtomicPtr<c_void>;

/// Ids of methods by number, [`MOST`] places; null before the first number. Each event reads one, so the places follow
/// each other in one range of addresses. As a static array, the whole range would count as memory that can be written:
/// `mlockall` would make all of it resident, and limits of memory could refuse the library, and so the JVM.
static IDS: AtomicPtr<Id> = AtomicPtr::new(null_mut());
/// Number of places of [`IDS`] that can be used. The others have no memory.
static USABLE: AtomicUsize = AtomicUsize::new(0);
/// Number of places that are made usable at once: 256 KB, a multiple of the sizes of pages.
const STEP: usize = 1 << 15;
/// The largest number of methods that can have a number, a multiple of [`STEP`]. It bounds the layer's memory. Numbers of
/// unloaded methods are not given again.
pub(super) const MOST: usize = 1 << 24;

/// The next number to be given.
static NEXT: Mutex<usize> = Mutex::new(0);
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

    /// Returns the number of a method; `None` if there are too many methods, or no memory for their ids.
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

fn next() -> MutexGuard<'static, usize> {
    NEXT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives a method a number; `None` if there are too many methods, or no memory for their ids.
fn next_number() -> Option<u32> {
    let mut next = next();
    let number = *next;
    if number == USABLE.load(Ordering::Relaxed) {
        add_places(number)?;
    }
    *next += 1;
    Some(number as u32)
}

/// Returns whether all numbers have been given.
pub(super) fn are_used_up() -> bool {
    *next() == MOST
}

/// Makes more places usable than the first `usable` ones. Returns `None` if all are, or if there is no memory. To be
/// called with the lock of [`NEXT`].
fn add_places(usable: usize) -> Option<()> {
    if usable >= MOST {
        return None;
    }
    let mut table = IDS.load(Ordering::Relaxed);
    if table.is_null() {
        table = reserve()?;
        IDS.store(table, Ordering::Relaxed);
    }
    // SAFETY: these places belong to the reserved range, which nothing else uses. Their bytes are zero then: each is null.
    let failed = unsafe {
        libc::mprotect(
            table.add(usable).cast(),
            STEP * size_of::<Id>(),
            libc::PROT_READ | libc::PROT_WRITE,
        )
    };
    if failed != 0 {
        return None;
    }
    USABLE.store(usable + STEP, Ordering::Release);
    Some(())
}

/// Reserves addresses for [`IDS`], without memory. They are never given back.
fn reserve() -> Option<*mut Id> {
    // SAFETY: the system chooses addresses that are free.
    let range = unsafe {
        libc::mmap(
            null_mut(),
            MOST * size_of::<Id>(),
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    (range != libc::MAP_FAILED).then_some(range.cast())
}

/// Returns the place of a method's id; `None` if the number has not been given.
#[inline(always)]
fn place(number: u32) -> Option<&'static Id> {
    let number = number as usize;
    // Who sees that a place is usable sees the table, too.
    if number >= USABLE.load(Ordering::Acquire) {
        return None;
    }
    // SAFETY: the place is usable, and stays so.
    Some(unsafe { &*IDS.load(Ordering::Relaxed).add(number) })
}

/// Returns the id of a method by its number; `None` if it is not known.
#[inline]
pub(super) fn id(number: u32) -> Option<*mut c_void> {
    let id = place(number)?.load(Ordering::Relaxed);
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
        if let (Some(place), Some(id)) = (place(*number), ids.get(name)) {
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
        let first = MOST - STEP;
        *next() = first;
        USABLE.store(first, Ordering::Relaxed);
        let mut methods = Methods::default();
        assert_eq!(methods.number(b"first", b"()V"), Some(first as u32));
        for number in first + 1..MOST {
            assert_eq!(next_number(), Some(number as u32));
        }
        assert!(are_used_up());
        assert_eq!(methods.number(b"none", b"()V"), None);
        assert_eq!(methods.number(b"none", b"()V"), None);
        let last = MOST as u32 - 1;
        assert_eq!(id(last), None);
        place(last)
            .expect("a usable place")
            .store(std::ptr::dangling_mut(), Ordering::Relaxed);
        assert_eq!(id(last), Some(std::ptr::dangling_mut()));
        assert_eq!(id(MOST as u32), None);
    }
}
