//! The function `RequestEvent` of JVMPI.

use std::ffi::c_void;

use loadhook_jvm::jni::Jni;

use super::layer;
use super::{definitions, dump, monitor_dump, tags, thread_events, threads};
use crate::abi::{FAIL, Int, NOT_AVAILABLE, ObjectId, SUCCESS, event};

/// Sends a requested event to the profiler that requests it, before this function returns.
pub(super) fn request(profiler: usize, event_type: Int, argument: *mut c_void) -> Int {
    let known = [
        event::CLASS_LOAD,
        event::THREAD_START,
        event::OBJECT_ALLOC,
        event::HEAP_DUMP,
        event::MONITOR_DUMP,
        event::OBJECT_DUMP,
    ];
    if !known.contains(&event_type) {
        return NOT_AVAILABLE;
    }
    let Some(jni) = layer::current_jni() else {
        return FAIL;
    };
    let to = 1 << profiler;
    let done = jni.framed(|jni| match event_type {
        event::HEAP_DUMP => {
            // SAFETY: the argument is null, or a `JVMPI_HeapDumpArg`, which has only the level.
            let level = unsafe { argument.cast::<Int>().as_ref() }.copied();
            let level = level.unwrap_or(dump::HIGHEST_LEVEL);
            (0..=dump::HIGHEST_LEVEL).contains(&level) && dump::heap(jni, level, to)
        }
        event::MONITOR_DUMP => monitor_dump::send(jni, to),
        _ => of_object(jni, event_type, argument.addr(), to),
    });
    if done == Some(true) { SUCCESS } else { FAIL }
}

/// Sends an event about one object. Returns whether there is such an object.
fn of_object(jni: Jni<'_>, event_type: Int, id: ObjectId, to: u8) -> bool {
    if event_type == event::OBJECT_DUMP && dump::class_of_dump(jni, id, to) {
        return true;
    }
    let object = tags::find(jni, id);
    if object.is_null() {
        return false;
    }
    match event_type {
        event::CLASS_LOAD => definitions::requested_class(jni, object, id, to),
        event::THREAD_START => {
            let thread = threads::find(threads::env_of_object(jni, object));
            thread.is_some_and(|thread| {
                thread_events::requested(jni, &thread, to);
                true
            })
        }
        event::OBJECT_ALLOC => {
            definitions::requested_object(jni, object, id, to);
            true
        }
        _ => dump::object(jni, id, to),
    }
}
