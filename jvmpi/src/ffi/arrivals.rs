//! Sends the definitions of the threads, classes and objects that exist already: when the JVM is initialised, and when
//! an event is enabled later.

use std::rc::Rc;

use loadhook_jvm::heap_walk::NewlyTagged;
use loadhook_jvm::jni::Jni;
use loadhook_jvm::jvmti::Jvmti;
use loadhook_jvm::reference::Local;
use loadhook_jvm::sleeps;
use loadhook_jvm::sys::event as jvmti_event;

use super::layer::{self, NO_DATA};
use super::{announcing, definitions, own, probes, sources, tags, thread_events, threads, unsent};
use crate::abi::{Data, Int, NewArena, event};

/// Maximum number of times that [`all_classes`] looks for classes that were loaded meanwhile.
const MOST_ROUNDS: usize = 5;

/// Number of objects of a heap walk after which other threads learn how many definitions have been sent.
const PORTION: usize = 1000;

/// Begins the delivery of events when the JVM is initialised: sends the definitions of everything that exists, then
/// `JVM_INIT_DONE`.
pub(super) fn initialised(jni: Jni<'_>, thread: Local<'_>) {
    jni.framed(|jni| {
        threads::learn(jni, thread);
        threads::add_listed(jni);
    });
    if let Some(jvmti) = layer::jvmti()
        && !sleeps::learn(jvmti)
        && layer::enabled(event::MONITOR_WAIT) | layer::enabled(event::MONITOR_WAITED) != 0
    {
        own::say(
            "Thread.sleep has no events, because this JVM does not report its function; run without other agents that \
             replace it",
        );
    }
    layer::set_running(true);
    // Definitions come before the events that need them. The calling thread, which most of these events name, has no
    // frames yet. The other threads have frames, whose methods a profiler must know when it asks for their stacks.
    arena(jni);
    if let Some(caller) = threads::find(layer::id(jni)) {
        thread_events::announce(jni, &caller);
    }
    existing_classes(jni);
    existing_threads(jni);
    sources::update();
    if layer::wanted(event::OBJECT_ALLOC) != 0 {
        existing_objects(jni);
    }
    // Threads and classes that came before `sources::update` enabled the events of JVM TI.
    existing_threads(jni);
    existing_classes(jni);
    if layer::enabled(event::CLASS_LOAD_HOOK) != 0 {
        probes::show_all(jni);
    } else {
        probes::update(jni, true);
    }
    let wanted = layer::wanted(event::JVM_INIT_DONE);
    layer::send(wanted, event::JVM_INIT_DONE, layer::id(jni), NO_DATA);
}

/// Sends the definitions of the threads, classes, objects, compiled methods or the arena that exist already, when a
/// profiler enables their event after the JVM's initialisation.
pub(super) fn enabled_later(jni: Jni<'_>, event_type: Int) {
    match event_type {
        event::THREAD_START => existing_threads(jni),
        event::CLASS_LOAD => existing_classes(jni),
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

fn existing_threads(jni: Jni<'_>) {
    for thread in threads::all() {
        thread_events::announce(jni, &thread);
    }
}

/// Sends `CLASS_LOAD` for every prepared class, to each profiler that has not got it. A class that is not prepared has
/// no methods yet; its `CLASS_LOAD` is sent when the class is prepared, or before the first event that refers to the
/// class.
fn existing_classes(jni: Jni<'_>) {
    each_class(jni, |jvmti, jni, class| {
        if jvmti.class_methods(class).is_some() {
            definitions::prepared(jni, class);
        }
    });
}

/// Sends `CLASS_LOAD` for every class, to each profiler that wants this event and has not got it.
pub(super) fn all_classes(jni: Jni<'_>) {
    // Preparing a class may load others.
    for _ in 0..MOST_ROUNDS {
        let before = definitions::class_count();
        each_class(jni, |_, jni, class| {
            definitions::class_id(jni, class);
        });
        if definitions::class_count() == before {
            break;
        }
    }
}

fn each_class(jni: Jni<'_>, visit: impl Fn(Jvmti, Jni<'_>, Local<'_>)) {
    let Some(jvmti) = layer::jvmti() else {
        return;
    };
    jni.framed(|jni| {
        jni.ensure_local_capacity();
        for class in jvmti.loaded_classes(jni).unwrap_or_default() {
            jni.framed(|jni| visit(jvmti, jni, class));
        }
    });
}

/// Gives every object an id, and sends `OBJECT_ALLOC`.
pub(super) fn existing_objects(jni: Jni<'_>) {
    existing_classes(jni);
    // A heap walk names the class of an object by the tag of that class.
    each_class(jni, |_, jni, class| {
        definitions::id_of(jni, class);
    });
    tag_all(jni, |jvmti| {
        jvmti.tag_untagged(tags::next_tag).unwrap_or_default()
    });
}

/// Runs a walk over the heap that gives objects ids, and sends `OBJECT_ALLOC` for the objects that the walk returns.
pub(super) fn tag_all(jni: Jni<'_>, walk: impl FnOnce(Jvmti) -> Vec<NewlyTagged>) {
    let Some(jvmti) = layer::jvmti() else {
        return;
    };
    let held = tags::lock();
    let during_walk = announcing::begin_all(tags::next_id(), usize::MAX);
    // The walk gives ids in this order.
    let found: Rc<[NewlyTagged]> = walk(jvmti).into();
    let ids = || found.iter().map(|object| object.tag as usize);
    let (first, last) = (ids().min().unwrap_or(0), ids().max().unwrap_or(0));
    let mut sending = announcing::begin_all(first, last);
    let mut unsent = unsent::begin(Rc::clone(&found));
    drop((held, during_walk));
    for (place, object) in found.iter().enumerate() {
        if place % PORTION == 0 {
            sending.sent_before(object.tag as usize);
        }
        announce_walked(jni, object);
        unsent.pass(place);
    }
}

fn announce_walked(jni: Jni<'_>, object: &NewlyTagged) {
    if layer::wanted(event::OBJECT_ALLOC) == 0 {
        return;
    }
    let class = object.class_tag as usize;
    let facts = definitions::facts_by_id(class).unwrap_or_else(|| {
        let facts = jni.framed(|jni| {
            let class = tags::find(jni, class);
            (!class.is_null()).then(|| definitions::facts(jni, class))
        });
        facts.flatten().unwrap_or_default()
    });
    // The facts may have needed the definition of this very object.
    let id = object.tag as usize;
    if unsent::take(id) {
        definitions::walked(jni, id, facts.shown_class, facts.is_array, object.size);
    }
}
