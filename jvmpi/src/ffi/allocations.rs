//! Reports allocations. The JVM reports most objects once. An object that the JVM makes itself is reported twice.
//!
//! From JDK 21 on, a clone loses its tag between the two reports: the JVM reports the new object, and then copies
//! the original over it, including the header by which the tag is found. So the layer sets the tag again, and the
//! clone keeps its id.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use loadhook_jvm::jni::Jni;
use loadhook_jvm::reference::Local;

use super::{definitions, layer, own, tags};
use crate::abi::{ObjectId, event};

/// The last object that was reported in a thread: its id, the tag of its class, and its size.
type Last = (ObjectId, i64, i64);

const NOTHING: Last = (0, 0, 0);
/// The first version of Java in which clones lose their tags.
const LOSES_TAGS: u32 = 21;

thread_local! {
    static LAST: Cell<Last> = const { Cell::new(NOTHING) };
}

/// Objects whose tag was set twice. The JVM reports the end of such an object twice.
static SET_TWICE: Mutex<Option<HashSet<ObjectId>>> = Mutex::new(None);

/// Sends `OBJECT_ALLOC` for the object of a `SampledObjectAlloc`.
pub(super) fn sampled(jni: Jni<'_>, object: Local<'_>, class: Local<'_>, size: i64) {
    if layer::wanted(event::OBJECT_ALLOC) != 0 {
        let id = definitions::id_of(jni, object);
        LAST.set((id, class_tag(class), size));
    }
}

/// Sends `OBJECT_ALLOC` for the object of a `VMObjectAlloc`. If the object is a clone that was reported before,
/// gives the clone its tag again instead.
pub(super) fn by_vm(jni: Jni<'_>, object: Local<'_>, class: Local<'_>, size: i64) {
    if layer::wanted(event::OBJECT_ALLOC) == 0 {
        return;
    }
    let last = LAST.replace(NOTHING);
    let id = last.0;
    if own::java_version() >= LOSES_TAGS
        && last == (id, class_tag(class), size)
        && tags::restore(object, id)
    {
        note_second_tag(id);
    } else {
        definitions::id_of(jni, object);
    }
}

/// Records that an object's tag was set twice.
pub(super) fn note_second_tag(id: ObjectId) {
    set_twice().get_or_insert_default().insert(id);
}

/// Returns whether this report of an object's end is the last one. The event is sent only for the last one.
pub(super) fn is_last_end(id: ObjectId) -> bool {
    !set_twice().as_mut().is_some_and(|ids| ids.remove(&id))
}

fn set_twice() -> MutexGuard<'static, Option<HashSet<ObjectId>>> {
    SET_TWICE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn class_tag(class: Local<'_>) -> i64 {
    layer::jvmti().map_or(0, |jvmti| jvmti.tag(class).unwrap_or(0))
}
