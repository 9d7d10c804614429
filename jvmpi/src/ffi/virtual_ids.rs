//! The ids of virtual threads, which are the addresses of their environments, by the threads' objects.

use std::collections::HashMap;
use std::ptr::null_mut;
use std::sync::{OnceLock, PoisonError, RwLock};

use loadhook_jvm::jni::{Field, Jni};
use loadhook_jvm::reference::Local;
use loadhook_jvm::sys::Long;

use crate::abi::EnvId;

/// `Thread.tid`, a number that no other thread gets.
static NUMBER: OnceLock<Field> = OnceLock::new();
static IDS: RwLock<Option<HashMap<Long, usize>>> = RwLock::new(None);

/// Learns the field of threads that has their number. `class` is `java.lang.Thread`.
pub(super) fn learn(jni: Jni<'_>, class: Local<'_>) {
    if let Ok(field) = jni.field(class, c"tid", c"J") {
        let _ = NUMBER.set(field);
    }
}

fn number(jni: Jni<'_>, thread: Local<'_>) -> Option<Long> {
    jni.long_field(thread, *NUMBER.get()?).ok()
}

/// Returns whether a virtual thread has had an id, so that profilers see virtual threads as threads.
pub(super) fn are_used() -> bool {
    let ids = IDS.read().unwrap_or_else(PoisonError::into_inner);
    ids.is_some()
}

/// Returns the id of a virtual thread; null if it has none.
pub(super) fn find(jni: Jni<'_>, thread: Local<'_>) -> EnvId {
    let Some(number) = number(jni, thread) else {
        return null_mut();
    };
    let ids = IDS.read().unwrap_or_else(PoisonError::into_inner);
    let id = ids.as_ref().and_then(|ids| ids.get(&number));
    id.map_or(null_mut(), |id| std::ptr::with_exposed_provenance_mut(*id))
}

/// Notes the id of a virtual thread.
pub(super) fn add(jni: Jni<'_>, thread: Local<'_>, id: usize) {
    if let Some(number) = number(jni, thread) {
        let mut ids = IDS.write().unwrap_or_else(PoisonError::into_inner);
        ids.get_or_insert_default().insert(number, id);
    }
}

/// Forgets the id of a virtual thread that has ended.
pub(super) fn remove(jni: Jni<'_>, thread: Local<'_>) {
    if let Some(number) = number(jni, thread) {
        let mut ids = IDS.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(ids) = ids.as_mut() {
            ids.remove(&number);
        }
    }
}
