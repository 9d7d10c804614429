//! The capabilities and the events of JVM TI that events of JVMPI need.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

use loadhook_jvm::jvmti::Jvmti;
use loadhook_jvm::sys::{Capabilities, capability, event as jvmti_event};

use super::turns::Turns;
use super::{code_facts, collections, contention, jni_references, layer, probes};
use crate::abi::{Int, event};

/// Capabilities that the layer needs whatever events are enabled. It asks for them one by one: if the JVM lacks one,
/// only the functions that need it fail.
const ALWAYS: [usize; 12] = [
    capability::CAN_TAG_OBJECTS,
    capability::CAN_GET_SOURCE_FILE_NAME,
    capability::CAN_GET_LINE_NUMBERS,
    capability::CAN_GET_CURRENT_THREAD_CPU_TIME,
    capability::CAN_GET_THREAD_CPU_TIME,
    capability::CAN_SUSPEND,
    capability::CAN_GET_MONITOR_INFO,
    capability::CAN_GET_OWNED_MONITOR_INFO,
    capability::CAN_GET_CURRENT_CONTENDED_MONITOR,
    capability::CAN_GENERATE_GARBAGE_COLLECTION_EVENTS,
    capability::CAN_GENERATE_OBJECT_FREE_EVENTS,
    capability::CAN_SUPPORT_VIRTUAL_THREADS,
];

const REWRITING: [usize; 3] = [
    capability::CAN_GENERATE_ALL_CLASS_HOOK_EVENTS,
    capability::CAN_RETRANSFORM_CLASSES,
    capability::CAN_RETRANSFORM_ANY_CLASS,
];

/// Each event of JVM TI that the layer uses, with the events of JVMPI that come from it.
const SOURCES: [(c_int, &[Int]); 14] = [
    // Before the next one, so that no class with probes misses it.
    (
        jvmti_event::CLASS_PREPARE,
        &[
            event::CLASS_LOAD,
            event::METHOD_ENTRY,
            event::METHOD_ENTRY2,
            event::METHOD_EXIT,
        ],
    ),
    (
        jvmti_event::CLASS_FILE_LOAD_HOOK,
        &[
            event::CLASS_LOAD_HOOK,
            event::METHOD_ENTRY,
            event::METHOD_ENTRY2,
            event::METHOD_EXIT,
            // Another agent may change the code that is stepped through, and the lines of stack traces. Profilers that
            // take stacks want `CLASS_LOAD`, too.
            event::INSTRUCTION_START,
            event::CLASS_LOAD,
            event::COMPILED_METHOD_LOAD,
        ],
    ),
    (jvmti_event::SAMPLED_OBJECT_ALLOC, &[event::OBJECT_ALLOC]),
    (jvmti_event::VM_OBJECT_ALLOC, &[event::OBJECT_ALLOC]),
    (
        jvmti_event::OBJECT_FREE,
        &[
            event::OBJECT_FREE,
            event::CLASS_UNLOAD,
            event::GC_FINISH,
            // `allocations.rs` forgets objects that have ended.
            event::OBJECT_ALLOC,
        ],
    ),
    (
        jvmti_event::GARBAGE_COLLECTION_FINISH,
        &[
            event::GC_START,
            event::GC_FINISH,
            event::OBJECT_FREE,
            event::CLASS_UNLOAD,
        ],
    ),
    (
        jvmti_event::COMPILED_METHOD_LOAD,
        &[event::COMPILED_METHOD_LOAD],
    ),
    (
        jvmti_event::COMPILED_METHOD_UNLOAD,
        &[event::COMPILED_METHOD_UNLOAD],
    ),
    (jvmti_event::SINGLE_STEP, &[event::INSTRUCTION_START]),
    (
        jvmti_event::MONITOR_CONTENDED_ENTER,
        &[
            event::MONITOR_CONTENDED_ENTER,
            event::MONITOR_CONTENDED_ENTERED,
            event::MONITOR_CONTENDED_EXIT,
        ],
    ),
    (
        jvmti_event::MONITOR_CONTENDED_ENTERED,
        &[
            event::MONITOR_CONTENDED_ENTERED,
            event::MONITOR_CONTENDED_EXIT,
        ],
    ),
    (
        jvmti_event::MONITOR_WAIT,
        &[event::MONITOR_WAIT, event::MONITOR_WAITED],
    ),
    (jvmti_event::MONITOR_WAITED, &[event::MONITOR_WAITED]),
    (
        jvmti_event::DATA_DUMP_REQUEST,
        &[event::DATA_DUMP_REQUEST, event::DATA_RESET_REQUEST],
    ),
];

/// The enabled sources, a bit for each.
static ENABLED: AtomicU64 = AtomicU64::new(0);
/// Number of times that a thread began to enable or disable a source.
static CHANGES: AtomicU64 = AtomicU64::new(0);
static TURNS: Turns = Turns::new();

/// Adds the capabilities that the layer always asks for.
pub(super) fn add_capabilities(jvmti: Jvmti) {
    let _ = jvmti.add_capabilities(Capabilities::of(&REWRITING));
    for one in ALWAYS {
        let _ = jvmti.add_capabilities(Capabilities::of(&[one]));
    }
}

/// Adds the capabilities of an event. `None` if it is no event that can be enabled.
pub(super) fn prepare(jvmti: Jvmti, event_type: Int) -> Option<bool> {
    let add = |wanted: &[usize]| jvmti.add_capabilities(Capabilities::of(wanted)).is_ok();
    Some(match event_type {
        event::METHOD_ENTRY
        | event::METHOD_ENTRY2
        | event::METHOD_EXIT
        | event::CLASS_LOAD_HOOK => add(&REWRITING),
        event::OBJECT_ALLOC => {
            // With an interval of 0, `SampledObjectAlloc` reports all allocations. `VMObjectAlloc` is enabled only to
            // make sure.
            let _ = add(&[capability::CAN_GENERATE_VM_OBJECT_ALLOC_EVENTS]);
            // Each thread counts down the interval that it drew last, so the interval 0 must be set before threads
            // allocate.
            add(&[capability::CAN_GENERATE_SAMPLED_OBJECT_ALLOC_EVENTS])
                && jvmti.set_heap_sampling_interval(0).is_ok()
        }
        event::OBJECT_FREE | event::CLASS_UNLOAD => add(&[
            capability::CAN_GENERATE_OBJECT_FREE_EVENTS,
            capability::CAN_GENERATE_GARBAGE_COLLECTION_EVENTS,
        ]),
        event::GC_START | event::GC_FINISH => {
            add(&[capability::CAN_GENERATE_GARBAGE_COLLECTION_EVENTS])
        }
        event::COMPILED_METHOD_LOAD | event::COMPILED_METHOD_UNLOAD => {
            add(&[capability::CAN_GENERATE_COMPILED_METHOD_LOAD_EVENTS])
        }
        event::INSTRUCTION_START => {
            // Without these, branches and keys of switches are not told.
            let _ = add(&[
                capability::CAN_GET_BYTECODES,
                capability::CAN_GET_CONSTANT_POOL,
            ]);
            let _ = add(&[capability::CAN_ACCESS_LOCAL_VARIABLES]);
            add(&[capability::CAN_GENERATE_SINGLE_STEP_EVENTS])
        }
        event::MONITOR_CONTENDED_ENTER
        | event::MONITOR_CONTENDED_ENTERED
        | event::MONITOR_CONTENDED_EXIT => add(&[capability::CAN_GENERATE_MONITOR_EVENTS]),
        event::MONITOR_WAIT | event::MONITOR_WAITED => {
            let _ = add(&[capability::CAN_GENERATE_NATIVE_METHOD_BIND_EVENTS]);
            add(&[capability::CAN_GENERATE_MONITOR_EVENTS])
        }
        event::OBJECT_MOVE
        | event::THREAD_START
        | event::THREAD_END
        | event::JNI_GLOBALREF_ALLOC
        | event::JNI_GLOBALREF_FREE
        | event::JNI_WEAK_GLOBALREF_ALLOC
        | event::JNI_WEAK_GLOBALREF_FREE
        | event::CLASS_LOAD
        | event::DATA_DUMP_REQUEST
        | event::DATA_RESET_REQUEST
        | event::JVM_INIT_DONE
        | event::JVM_SHUT_DOWN
        | event::ARENA_NEW
        | event::ARENA_DELETE
        | event::RAW_MONITOR_CONTENDED_ENTER
        | event::RAW_MONITOR_CONTENDED_ENTERED
        | event::RAW_MONITOR_CONTENDED_EXIT => true,
        _ => return None,
    })
}

/// Enables those events of JVM TI that are needed, and disables the others.
pub(super) fn update() {
    let Some(jvmti) = layer::jvmti() else {
        return;
    };
    update_sources(jvmti);
    jni_references::update();
    let collected = [
        event::GC_START,
        event::GC_FINISH,
        event::OBJECT_FREE,
        event::CLASS_UNLOAD,
    ];
    if collected.iter().any(|event| layer::enabled(*event) != 0)
        && let Some(jni) = layer::current_jni()
    {
        collections::start_thread(jni);
    }
}

/// Brings the sources up to date. If another thread is doing so, waits for that thread.
fn update_sources(jvmti: Jvmti) {
    let begins_allocations = Cell::new(false);
    let change = || {
        if change_sources(jvmti) {
            begins_allocations.set(true);
        }
    };
    TURNS.ask();
    if !TURNS.work(change) {
        // The other thread does not go on. If it does later, it finds that the work was asked for, and looks again.
        change();
    }
    if begins_allocations.get() {
        // Threads go on allocating in buffers that they got before. A collection takes these away. It may take long,
        // and other threads that change events must not wait for it, so it comes after the work.
        let _ = jvmti.collect_garbage();
    }
}

/// Enables and disables sources. Returns whether allocations are reported from now on that were not before.
///
/// Several threads may be here at once, when one has given up waiting for another. A source is changed until nobody
/// else has begun a change meanwhile, and nobody has enabled or disabled its events. So the last change of a source is
/// made with the events that are enabled then.
fn change_sources(jvmti: Jvmti) -> bool {
    let mut begins_allocations = false;
    for (number, (source, events)) in SOURCES.iter().enumerate() {
        let bit: u64 = 1 << number;
        let is_needed = || events.iter().any(|event| layer::enabled(*event) != 0);
        let is_enabled = || ENABLED.load(Ordering::SeqCst) & bit != 0;
        let mut is_disturbed = false;
        while is_disturbed || is_needed() != is_enabled() {
            let change = CHANGES.fetch_add(1, Ordering::SeqCst) + 1;
            let needed = is_needed();
            switch(jvmti, *source, bit, needed);
            begins_allocations |= *source == jvmti_event::SAMPLED_OBJECT_ALLOC && needed;
            is_disturbed = CHANGES.load(Ordering::SeqCst) != change;
        }
    }
    begins_allocations
}

/// Enables or disables a source, whose bit in [`ENABLED`] is `bit`.
fn switch(jvmti: Jvmti, source: c_int, bit: u64, needed: bool) {
    if source == jvmti_event::SAMPLED_OBJECT_ALLOC && needed {
        let _ = jvmti.set_heap_sampling_interval(0);
    }
    // A change may be made again because another thread has disturbed it. Then no wait is forgotten.
    let begins = needed && ENABLED.load(Ordering::SeqCst) & bit == 0;
    if source == jvmti_event::MONITOR_CONTENDED_ENTERED && begins {
        contention::forget();
    }
    let is_hook = source == jvmti_event::CLASS_FILE_LOAD_HOOK;
    if is_hook && !needed {
        code_facts::set_watched(false);
    }
    let _ = jvmti.notify(source, needed);
    if needed {
        ENABLED.fetch_or(bit, Ordering::SeqCst);
    } else {
        ENABLED.fetch_and(!bit, Ordering::SeqCst);
    }
    if is_hook && needed {
        code_facts::set_watched(true);
        // The thread that has enabled the event may have shown the classes already, when nobody saw their bytes.
        probes::ask();
    }
}
