//! Global references of JNI: four functions of JNI's table are replaced once a profiler wants their events.

use std::collections::HashSet;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use loadhook_jvm::jni::Jni;
use loadhook_jvm::reference::Local;
use loadhook_jvm::sys::{JniTable, Object, jni};

use super::definitions;
use super::layer;
use super::own;
use crate::abi::{Data, GlobalRef, Int, event};

const EVENTS: [Int; 4] = [
    event::JNI_GLOBALREF_ALLOC,
    event::JNI_GLOBALREF_FREE,
    event::JNI_WEAK_GLOBALREF_ALLOC,
    event::JNI_WEAK_GLOBALREF_FREE,
];

/// The JVM's functions.
static NEW: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static DELETE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static NEW_WEAK: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static DELETE_WEAK: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static IS_REPLACED: AtomicBool = AtomicBool::new(false);
/// References whose `…_ALLOC` was sent. Others are freed without an event, because no profiler knows them.
static TOLD: Mutex<Option<HashSet<usize>>> = Mutex::new(None);

type NewFunction = unsafe extern "system" fn(*mut c_void, Object) -> Object;
type DeleteFunction = unsafe extern "system" fn(*mut c_void, Object);

/// Replaces the functions once an event of references is enabled. They stay replaced.
pub(super) fn update() {
    let any = EVENTS.iter().any(|event| layer::enabled(*event) != 0);
    if !any || IS_REPLACED.swap(true, Ordering::SeqCst) {
        return;
    }
    let Some((jvmti, table)) =
        layer::jvmti().and_then(|jvmti| jvmti.jni_table().ok().map(|table| (jvmti, table)))
    else {
        return;
    };
    let slots = table.cast::<*mut c_void>();
    for (place, original, ours) in [
        (jni::NEW_GLOBAL_REF, &NEW, new_global_ref as *mut c_void),
        (
            jni::DELETE_GLOBAL_REF,
            &DELETE,
            delete_global_ref as *mut c_void,
        ),
        (
            jni::NEW_WEAK_GLOBAL_REF,
            &NEW_WEAK,
            new_weak_global_ref as *mut c_void,
        ),
        (
            jni::DELETE_WEAK_GLOBAL_REF,
            &DELETE_WEAK,
            delete_weak_global_ref as *mut c_void,
        ),
    ] {
        // SAFETY: the table is a copy that the JVM made for us, and has these places.
        unsafe {
            original.store(*slots.add(place), Ordering::SeqCst);
            *slots.add(place) = ours;
        }
    }
    // SAFETY: the replaced functions have the types of the originals.
    let _ = unsafe { jvmti.set_jni_table(table.cast_const().cast::<JniTable>()) };
    jvmti.deallocate(table.cast());
}

fn told() -> std::sync::MutexGuard<'static, Option<HashSet<usize>>> {
    TOLD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends the event of a new reference.
fn made(env: *mut c_void, object: Object, reference: Object, event_type: Int) {
    let wanted = layer::wanted(event_type);
    if wanted == 0 || reference.is_null() || own::is_own() {
        return;
    }
    layer::guarded((), || {
        // SAFETY: JNI was called with this thread's environment.
        let jni = unsafe { Jni::new(env) };
        // An exception may be pending: programs make a global reference to it.
        jni.without_exception(|| {
            let id = jni.framed(|jni| definitions::id_of(jni, Local::new(object)));
            let global_ref = GlobalRef {
                object: id.unwrap_or(0),
                reference,
            };
            told().get_or_insert_default().insert(reference.addr());
            layer::send(wanted, event_type, layer::id(jni), Data { global_ref });
        });
    });
}

/// Sends the event of a reference that is about to be deleted.
fn deleted(env: *mut c_void, reference: Object, event_type: Int) {
    if reference.is_null() || own::is_own() {
        return;
    }
    layer::guarded((), || {
        let was_told = told()
            .as_mut()
            .is_some_and(|told| told.remove(&reference.addr()));
        if was_told {
            layer::send(
                layer::wanted(event_type),
                event_type,
                layer::shown(env),
                Data { reference },
            );
        }
    });
}

unsafe extern "system" fn new_global_ref(env: *mut c_void, object: Object) -> Object {
    // SAFETY: the JVM's function was kept before it was replaced, and has this type.
    let reference = unsafe {
        let original: NewFunction = std::mem::transmute(NEW.load(Ordering::Relaxed));
        original(env, object)
    };
    made(env, object, reference, event::JNI_GLOBALREF_ALLOC);
    reference
}

unsafe extern "system" fn new_weak_global_ref(env: *mut c_void, object: Object) -> Object {
    // SAFETY: as above.
    let reference = unsafe {
        let original: NewFunction = std::mem::transmute(NEW_WEAK.load(Ordering::Relaxed));
        original(env, object)
    };
    made(env, object, reference, event::JNI_WEAK_GLOBALREF_ALLOC);
    reference
}

unsafe extern "system" fn delete_global_ref(env: *mut c_void, reference: Object) {
    deleted(env, reference, event::JNI_GLOBALREF_FREE);
    // SAFETY: as above.
    unsafe {
        let original: DeleteFunction = std::mem::transmute(DELETE.load(Ordering::Relaxed));
        original(env, reference);
    }
}

unsafe extern "system" fn delete_weak_global_ref(env: *mut c_void, reference: Object) {
    deleted(env, reference, event::JNI_WEAK_GLOBALREF_FREE);
    // SAFETY: as above.
    unsafe {
        let original: DeleteFunction = std::mem::transmute(DELETE_WEAK.load(Ordering::Relaxed));
        original(env, reference);
    }
}
