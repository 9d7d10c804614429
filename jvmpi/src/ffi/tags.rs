//! Tags of JVM TI, which are the ids of objects. A tag is never given twice.

use std::ffi::c_void;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::Duration;

use loadhook_jvm::jni::Jni;
use loadhook_jvm::reference::{Local, Reference};

use super::layer;
use crate::abi::ObjectId;

/// The next tag. Ids are used as addresses by hash tables of old profilers, so their low bits are zero.
static NEXT: AtomicI64 = AtomicI64::new(0x1_0000);
const STEP: i64 = 16;
/// Held between reading that an object has no tag and setting one. No event is sent meanwhile.
static TAGGING: Mutex<()> = Mutex::new(());
/// The longest wait for the lock, in milliseconds. A profiler may have suspended its owner; two tags for an object at
/// one time, of which the last one stays, are better than none.
const PATIENCE: u32 = 100;

/// A new tag.
pub(super) fn next_tag() -> i64 {
    NEXT.fetch_add(STEP, Ordering::Relaxed)
}

/// The id of an object, and whether it is new.
pub(super) fn tagged(object: Local<'_>) -> (ObjectId, bool) {
    let Some(jvmti) = layer::jvmti().filter(|_| !object.is_null()) else {
        return (0, false);
    };
    match jvmti.tag(object) {
        Ok(0) => {}
        Ok(tag) => return (tag as ObjectId, false),
        Err(_) => return (0, false),
    }
    let _held = lock();
    match jvmti.tag(object) {
        Ok(0) => {}
        Ok(tag) => return (tag as ObjectId, false),
        Err(_) => return (0, false),
    }
    let tag = next_tag();
    match jvmti.set_tag(object, tag) {
        Ok(()) => (tag as ObjectId, true),
        Err(_) => (0, false),
    }
}

/// Lets no thread give an object a tag meanwhile. `None` if its owner does not release it soon.
pub(super) fn lock() -> Option<MutexGuard<'static, ()>> {
    for _ in 0..PATIENCE {
        match TAGGING.try_lock() {
            Ok(held) => return Some(held),
            Err(TryLockError::Poisoned(held)) => return Some(held.into_inner()),
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
        }
    }
    None
}

/// The object with this id; null if there is none.
pub(super) fn find<'f>(jni: Jni<'f>, id: ObjectId) -> Local<'f> {
    match layer::jvmti() {
        Some(jvmti) if id != 0 => jvmti.object_with_tag(jni, id as i64),
        _ => Local::NULL,
    }
}

/// A raw reference that a profiler passes.
pub(super) fn reference<'f>(object: *mut c_void) -> Local<'f> {
    Local::new(object)
}

/// A reference as a profiler gets it.
pub(super) fn raw(object: Local<'_>) -> *mut c_void {
    object.object()
}
