//! Sends definitions: `OBJECT_ALLOC` and `CLASS_LOAD`, which define an id before a profiler receives another
//! event with this id.
//!
//! Both are in one file, because an object needs its class, and a class is an object.

use std::collections::HashMap;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};

use loadhook_jvm::jni::{Field, Jni};
use loadhook_jvm::reference::Local;

use super::announcing::{self, of_class};
use super::class_load::Load;
use super::layer::{self, Profilers};
use super::{tags, unsent};
use crate::abi::{Data, EnvId, Int, ObjectAlloc, ObjectId, REQUESTED, event, kind};

/// The arena of all objects.
pub(super) const ARENA: Int = 1;

/// Number of objects that were announced and not freed, for `GC_FINISH`.
pub(super) static ALIVE: AtomicI64 = AtomicI64::new(0);

/// The facts about the objects of a class.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts {
    /// The class that `OBJECT_ALLOC` shows: the object's class; for an array of objects, the class of the elements; 0
    /// for an array of a primitive type.
    pub(super) shown_class: ObjectId,
    /// `is_array` of `OBJECT_ALLOC`.
    pub(super) is_array: Int,
}

struct Known {
    facts: Facts,
    /// The profilers that have received `CLASS_LOAD`.
    announced: Profilers,
    /// True once the class is prepared. Before that, its methods and fields are not known.
    is_whole: bool,
}

static CLASSES: RwLock<Option<HashMap<ObjectId, Known>>> = RwLock::new(None);
/// The field `Class.componentType`.
static COMPONENT: OnceLock<Option<Field>> = OnceLock::new();

/// Returns the id of an object; 0 for null. If the object had no id, or if the calling thread has yet to send its
/// `OBJECT_ALLOC`, sends that event first.
pub(super) fn id_of(jni: Jni<'_>, object: Local<'_>) -> ObjectId {
    id_from(jni, object, layer::id(jni))
}

/// Returns the id of a thread's object, before the `THREAD_START` of that thread is sent. If the object had no
/// id, sends its `OBJECT_ALLOC` first. That event names no thread, because the profiler may not know the calling
/// thread yet.
pub(super) fn id_of_thread(jni: Jni<'_>, object: Local<'_>) -> ObjectId {
    id_from(jni, object, null_mut())
}

fn id_from(jni: Jni<'_>, object: Local<'_>, env: EnvId) -> ObjectId {
    let (id, sending) = tags::tagged(object);
    if sending.is_some() || unsent::take(id) {
        announce_object(jni, object, id, env);
    }
    id
}

fn announce_object(jni: Jni<'_>, object: Local<'_>, id: ObjectId, env: EnvId) {
    let wanted = layer::wanted(event::OBJECT_ALLOC);
    if wanted != 0 {
        ALIVE.fetch_add(1, Ordering::Relaxed);
        send_alloc(wanted, event::OBJECT_ALLOC, env, alloc_of(jni, object, id));
    }
}

/// Sends the `OBJECT_ALLOC` that a profiler has requested.
pub(super) fn requested_object(jni: Jni<'_>, object: Local<'_>, id: ObjectId, to: Profilers) {
    let event_type = event::OBJECT_ALLOC | REQUESTED;
    send_alloc(to, event_type, layer::id(jni), alloc_of(jni, object, id));
}

fn send_alloc(to: Profilers, event_type: Int, env: EnvId, object_alloc: ObjectAlloc) {
    layer::send(to, event_type, env, Data { object_alloc });
}

/// Collects the data of an object's `OBJECT_ALLOC`.
fn alloc_of(jni: Jni<'_>, object: Local<'_>, id: ObjectId) -> ObjectAlloc {
    let size = layer::jvmti().and_then(|jvmti| jvmti.object_size(object).ok());
    let mut alloc = ObjectAlloc {
        arena: ARENA,
        class: 0,
        is_array: 0,
        size: Int::try_from(size.unwrap_or(0)).unwrap_or(Int::MAX),
        object: id,
    };
    // The class object of `java.lang.Class` is an object of that class itself. Without this check, `facts` would
    // never end.
    if let Ok(class) = jni.class_of(object)
        && !jni.is_same(object, class)
    {
        let found = facts(jni, class);
        alloc.class = found.shown_class;
        alloc.is_array = found.is_array;
    }
    alloc
}

/// Sends `OBJECT_ALLOC` for an object that a heap walk has reached, and that may be gone by now.
pub(super) fn walked(jni: Jni<'_>, object: ObjectId, class: ObjectId, is_array: Int, size: i64) {
    let wanted = layer::wanted(event::OBJECT_ALLOC);
    if wanted == 0 {
        return;
    }
    ALIVE.fetch_add(1, Ordering::Relaxed);
    let object_alloc = ObjectAlloc {
        arena: ARENA,
        class,
        is_array,
        size: Int::try_from(size).unwrap_or(Int::MAX),
        object,
    };
    send_alloc(wanted, event::OBJECT_ALLOC, layer::id(jni), object_alloc);
}

/// Returns the facts about the objects of a class. If necessary, sends the `CLASS_LOAD` of the class first.
pub(super) fn facts(jni: Jni<'_>, class: Local<'_>) -> Facts {
    let id = class_id(jni, class);
    let known = {
        let classes = CLASSES.read().unwrap_or_else(PoisonError::into_inner);
        classes
            .as_ref()
            .and_then(|classes| classes.get(&id).map(|known| known.facts))
    };
    known.unwrap_or_default()
}

/// Returns the id of a class. Sends `CLASS_LOAD` to each profiler that wants the event and has not received it.
pub(super) fn class_id(jni: Jni<'_>, class: Local<'_>) -> ObjectId {
    announce_as(jni, class, false)
}

/// Sends `CLASS_LOAD` for a class that has just been prepared. If the event was sent before without methods and
/// fields, sends it again with them.
pub(super) fn prepared(jni: Jni<'_>, class: Local<'_>) {
    announce_as(jni, class, true);
}

fn announce_as(jni: Jni<'_>, class: Local<'_>, is_prepared: bool) -> ObjectId {
    let id = id_of(jni, class);
    let wanted = layer::wanted(event::CLASS_LOAD);
    let known = {
        let classes = CLASSES.read().unwrap_or_else(PoisonError::into_inner);
        let known = classes.as_ref().and_then(|classes| classes.get(&id));
        known.map(|known| (wanted & !known.announced, known.is_whole))
    };
    match known {
        Some((0, is_whole)) if is_whole || !is_prepared => {
            announcing::wait_for(of_class(id));
            return id;
        }
        None => {
            note(jni, class, id);
            if wanted == 0 {
                return id;
            }
        }
        _ => {}
    }
    let Some(load) = Load::of(jni, class, id) else {
        return id;
    };
    if !load.is_whole && !is_prepared && link(class) {
        return announce_as(jni, class, true);
    }
    let sending = announcing::begin(of_class(id));
    let new = {
        let mut classes = CLASSES.write().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = classes.get_or_insert_default().get_mut(&id) else {
            return id;
        };
        if !known.is_whole && load.is_whole {
            // Until now, `CLASS_LOAD` was sent without methods.
            known.announced = 0;
            known.is_whole = true;
        }
        let new = wanted & !known.announced;
        known.announced |= new;
        new
    };
    load.send(jni, new, event::CLASS_LOAD);
    drop(sending);
    announcing::wait_for(of_class(id));
    id
}

/// Retransforms a class, so that the JVM prepares it and its methods and fields are known. Returns whether the
/// class is prepared.
fn link(class: Local<'_>) -> bool {
    layer::jvmti().is_some_and(|jvmti| {
        jvmti.retransform(&[class]).is_ok() && jvmti.class_methods(class).is_some()
    })
}

/// Records the facts about a class.
fn note(jni: Jni<'_>, class: Local<'_>, id: ObjectId) {
    let signature = layer::jvmti().and_then(|jvmti| jvmti.class_signature(class).ok());
    let mut facts = Facts {
        shown_class: id,
        is_array: kind::NORMAL_OBJECT,
    };
    if let Some([b'[', element, ..]) = signature.as_deref() {
        facts.is_array = kind::of(*element);
        facts.shown_class = match component(jni, class) {
            Some(element) if facts.is_array == kind::CLASS => class_id(jni, element),
            _ => 0,
        };
    }
    let mut classes = CLASSES.write().unwrap_or_else(PoisonError::into_inner);
    classes.get_or_insert_default().entry(id).or_insert(Known {
        facts,
        announced: 0,
        is_whole: false,
    });
}

fn component<'e>(jni: Jni<'e>, class: Local<'_>) -> Option<Local<'e>> {
    let field = *COMPONENT.get_or_init(|| {
        let of_classes = jni.find_class(c"java/lang/Class").ok()?;
        jni.field(of_classes, c"componentType", c"Ljava/lang/Class;")
            .ok()
    });
    jni.object_field(class, field?)
        .ok()
        .filter(|class| !class.is_null())
}

/// Sends the requested `CLASS_LOAD`. Returns whether the object is a class.
pub(super) fn requested_class(jni: Jni<'_>, class: Local<'_>, id: ObjectId, to: Profilers) -> bool {
    let is_class = jni
        .find_class(c"java/lang/Class")
        .is_ok_and(|of_classes| jni.is_instance(class, of_classes));
    if !is_class {
        return false;
    }
    let Some(load) = Load::of(jni, class, id) else {
        return false;
    };
    load.send(jni, to, event::CLASS_LOAD | REQUESTED);
    true
}

/// Forgets a class that was unloaded. Returns the profilers to which `CLASS_UNLOAD` must be sent.
pub(super) fn unloaded(id: ObjectId) -> Option<Profilers> {
    {
        let classes = CLASSES.read().unwrap_or_else(PoisonError::into_inner);
        classes.as_ref()?.get(&id)?;
    }
    let mut classes = CLASSES.write().unwrap_or_else(PoisonError::into_inner);
    let known = classes.as_mut()?.remove(&id)?;
    Some(known.announced & layer::wanted(event::CLASS_UNLOAD))
}

/// Returns the number of known classes.
pub(super) fn class_count() -> usize {
    let classes = CLASSES.read().unwrap_or_else(PoisonError::into_inner);
    classes.as_ref().map_or(0, HashMap::len)
}

/// Returns the facts about the objects of the class with this id; `None` if the class is not known. Sends no event, so
/// that a heap walk may call this.
pub(super) fn facts_by_id(id: ObjectId) -> Option<Facts> {
    let classes = CLASSES.read().unwrap_or_else(PoisonError::into_inner);
    classes.as_ref()?.get(&id).map(|known| known.facts)
}
