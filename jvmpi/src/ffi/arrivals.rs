//! Definitions of things that exist already: sent when the JVM is initialised, and when an event is enabled later.

use loadhook_jvm::jni::Jni;
use loadhook_jvm::reference::Local;
use loadhook_jvm::sys::event as jvmti_event;

use super::layer::{self, NO_DATA};
use super::{definitions, hook, sleeps, sources, tags, threads};
use crate::abi::{Data, Int, NewArena, event};

/// The JVM is initialised: tells of everything that exists, and begins the delivery of events.
pub(super) fn initialised(jni: Jni<'_>, thread: Local<'_>) {
    threads::learn(jni, thread);
    add_threads(jni);
    sleeps::learn();
    layer::set_running(true);
    // Definitions come before the events that need them.
    arena(jni);
    existing_threads(jni);
    existing_classes(jni, false);
    sources::update();
    if layer::wanted(event::OBJECT_ALLOC) != 0 {
        existing_objects(jni);
    }
    // Those that came before the events of JVM TI were enabled.
    existing_threads(jni);
    existing_classes(jni, false);
    if hook::is_needed() {
        hook::retransform_loaded(jni);
    }
    let wanted = layer::wanted(event::JVM_INIT_DONE);
    layer::send(wanted, event::JVM_INIT_DONE, layer::id(jni), NO_DATA);
}

/// A profiler has enabled an event after the JVM's initialisation.
pub(super) fn enabled_later(jni: Jni<'_>, event_type: Int) {
    match event_type {
        event::THREAD_START => existing_threads(jni),
        event::CLASS_LOAD => existing_classes(jni, false),
        event::OBJECT_ALLOC => existing_objects(jni),
        event::ARENA_NEW => arena(jni),
        event::COMPILED_METHOD_LOAD => {
            if let Some(jvmti) = layer::jvmti() {
                let _ = jvmti.generate_events(jvmti_event::COMPILED_METHOD_LOAD);
            }
        }
        _ => {}
    }
}

fn arena(jni: Jni<'_>) {
    let new_arena = NewArena {
        arena: definitions::ARENA,
        name: c"Java heap".as_ptr(),
    };
    let wanted = layer::wanted(event::ARENA_NEW);
    layer::send(wanted, event::ARENA_NEW, layer::id(jni), Data { new_arena });
}

fn add_threads(jni: Jni<'_>) {
    let Some(jvmti) = layer::jvmti() else {
        return;
    };
    for thread in jvmti.threads(jni).unwrap_or_default() {
        threads::add(jni, threads::env_of(jni, thread), thread);
    }
}

fn existing_threads(jni: Jni<'_>) {
    add_threads(jni);
    for thread in threads::all() {
        threads::announce(jni, thread);
    }
}

/// Gives every class an id, and sends `CLASS_LOAD` to all who have not got it. A class that is not prepared has no
/// methods yet, and is told of when it is, unless it has `objects`.
fn existing_classes(jni: Jni<'_>, objects: bool) {
    let Some(jvmti) = layer::jvmti() else {
        return;
    };
    jni.framed(|jni| {
        jni.ensure_local_capacity();
        for class in jvmti.loaded_classes(jni).unwrap_or_default() {
            if objects || jvmti.class_methods(class).is_some() {
                jni.framed(|jni| definitions::prepared(jni, class));
            }
        }
    });
}

/// Gives every object an id, and sends `OBJECT_ALLOC`.
pub(super) fn existing_objects(jni: Jni<'_>) {
    existing_classes(jni, true);
    let Some(jvmti) = layer::jvmti() else {
        return;
    };
    for object in jvmti.tag_untagged(tags::next_tag).unwrap_or_default() {
        let facts = definitions::facts_by_id(object.class_tag as usize).unwrap_or_default();
        let id = object.tag as usize;
        definitions::walked(jni, id, facts.shown_class, facts.is_array, object.size);
    }
}
