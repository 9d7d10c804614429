//! Enabling and disabling events.

use loadhook_jvm::sys::event as jvmti_event;

use super::layer;
use super::{arrivals, instructions, methods, probes, sources};
use crate::abi::{FAIL, Int, NOT_AVAILABLE, SUCCESS, event};

/// Events that come from the bytes of classes. Whoever enables or disables one of them waits until all loaded classes
/// are changed, even if another thread is changing them already. For other events nobody waits for that.
const OF_CLASS_BYTES: [Int; 4] = [
    event::METHOD_ENTRY,
    event::METHOD_ENTRY2,
    event::METHOD_EXIT,
    event::CLASS_LOAD_HOOK,
];

/// Carries out `EnableEvent`.
pub(super) fn enable(profiler: usize, event_type: Int) -> Int {
    let Some(jvmti) = layer::jvmti() else {
        return FAIL;
    };
    if sources::prepare(jvmti, event_type) != Some(true) {
        return NOT_AVAILABLE;
    }
    if event_type == event::INSTRUCTION_START && layer::enabled(event_type) == 0 {
        instructions::begin();
    }
    let mut had = false;
    let is_asked = probes::note(|| {
        had = layer::enabled(event_type) & (1 << profiler) != 0;
        // Before the event is sent, or the exit of a call that has just begun would be lost.
        methods::begin(profiler, event_type);
        layer::set_enabled(event_type, profiler, true);
        // The profiler sees the bytes of loaded classes, too.
        event_type == event::CLASS_LOAD_HOOK && !had
    });
    if !layer::is_running() {
        if [event::MONITOR_WAIT, event::MONITOR_WAITED].contains(&event_type) {
            // `sleeps.rs` sees sleeps only if this event is enabled before the JVM binds its native methods.
            let _ = jvmti.notify(jvmti_event::NATIVE_METHOD_BIND, true);
        }
        return SUCCESS;
    }
    // Also if the profiler had the event: another thread of it may be just enabling it.
    sources::update();
    if let Some(jni) = layer::current_jni() {
        if !had {
            jni.framed(|jni| arrivals::enabled_later(jni, event_type));
        }
        probes::update(jni, is_asked || OF_CLASS_BYTES.contains(&event_type));
    }
    SUCCESS
}

/// Carries out `DisableEvent`.
pub(super) fn disable(profiler: usize, event_type: Int) -> Int {
    let is_dump = [event::HEAP_DUMP, event::MONITOR_DUMP, event::OBJECT_DUMP].contains(&event_type);
    let is_event = (event::METHOD_ENTRY..=event::INSTRUCTION_START).contains(&event_type)
        || (event::THREAD_START..=event::GC_FINISH).contains(&event_type) && event_type != 36;
    if is_dump || !is_event {
        return NOT_AVAILABLE;
    }
    if event_type == event::CLASS_LOAD
        && layer::is_running()
        && let Some(jni) = layer::current_jni()
    {
        // `CLASS_LOAD` of some classes is sent only when it is needed. A heap dump may need it after this.
        arrivals::all_classes(jni);
    }
    let is_asked = probes::note(|| {
        layer::set_enabled(event_type, profiler, false);
        false
    });
    if layer::is_running() {
        sources::update();
        if let Some(jni) = layer::current_jni().filter(|_| !layer::is_ending()) {
            probes::update(jni, is_asked || OF_CLASS_BYTES.contains(&event_type));
        }
    }
    SUCCESS
}
