//! The ids of objects, which are tags of JVM TI. A tag is never given twice.

use std::ffi::c_void;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard};

use loadhook_jvm::heap_walk::{NewlyTagged, Tagged};
use loadhook_jvm::jni::Jni;
use loadhook_jvm::reference::{Local, Reference};

use super::announcing::{self, Sending};
use super::layer;
use super::own::lock_patiently;
use crate::abi::ObjectId;

/// The next tag, a multiple of 16. Hash tables of old profilers ignore the low bits of an id, because ids used to
/// be addresses.
static NEXT: AtomicI64 = AtomicI64::new(0x1_0000);
const STEP: i64 = 16;
/// Held from the moment at which an object is seen to have no tag until its tag is set. No event is sent while
/// the lock is held.
static TAGGING: Mutex<()> = Mutex::new(());

/// Returns a new tag.
pub(super) fn next_tag() -> i64 {
    NEXT.fetch_add(STEP, Ordering::Relaxed)
}

/// Gives a tag to an object that a heap walk has reached. Returns the object with its tag, or `None` if it had a
/// tag already.
pub(super) fn tag_in_walk(object: Tagged<'_>, size: i64) -> Option<NewlyTagged> {
    if object.tag.get() != 0 {
        return None;
    }
    object.tag.set(next_tag());
    Some(NewlyTagged {
        tag: object.tag.get(),
        class_tag: object.class_tag,
        size,
    })
}

/// Returns the id that the next object without an id gets.
pub(super) fn next_id() -> ObjectId {
    NEXT.load(Ordering::Relaxed) as ObjectId
}

/// Returns the id of an object. If the id is new, also returns a [`Sending`]. The caller must send the definition
/// before it drops that value.
pub(super) fn tagged(object: Local<'_>) -> (ObjectId, Option<Sending>) {
    let Some(jvmti) = layer::jvmti().filter(|_| !object.is_null()) else {
        return (0, None);
    };
    match jvmti.tag(object) {
        Ok(0) => {}
        Ok(tag) => return known(tag),
        Err(_) => return (0, None),
    }
    let held = lock();
    match jvmti.tag(object) {
        Ok(0) => {}
        Ok(tag) => {
            drop(held);
            return known(tag);
        }
        Err(_) => return (0, None),
    }
    let tag = next_tag();
    let sending = announcing::begin(tag as ObjectId);
    match jvmti.set_tag(object, tag) {
        Ok(()) => (tag as ObjectId, Some(sending)),
        Err(_) => (0, None),
    }
}

/// Sets an object's tag again if the object has lost it. Returns whether the tag was set.
pub(super) fn restore(object: Local<'_>, id: ObjectId) -> bool {
    let Some(jvmti) = layer::jvmti().filter(|_| id != 0) else {
        return false;
    };
    let _held = lock();
    jvmti.tag(object) == Ok(0) && jvmti.set_tag(object, id as i64).is_ok()
}

fn known(tag: i64) -> (ObjectId, Option<Sending>) {
    announcing::wait_for(tag as ObjectId);
    (tag as ObjectId, None)
}

/// Takes [`TAGGING`], so that no other thread gives an object a tag. Returns `None` if the lock does not become
/// free in time. The object is then tagged without the lock: if two threads tag it at the same time, the later
/// tag stays.
pub(super) fn lock() -> Option<MutexGuard<'static, ()>> {
    lock_patiently(&TAGGING)
}

/// Finds the object with this id; returns null if there is none.
pub(super) fn find<'f>(jni: Jni<'f>, id: ObjectId) -> Local<'f> {
    match layer::jvmti() {
        Some(jvmti) if id != 0 => jvmti.object_with_tag(jni, id as i64),
        _ => Local::NULL,
    }
}

/// Wraps a raw reference that a profiler passes.
pub(super) fn reference<'f>(object: *mut c_void) -> Local<'f> {
    Local::new(object)
}

/// Returns the raw reference that a profiler gets.
pub(super) fn raw(object: Local<'_>) -> *mut c_void {
    object.object()
}
