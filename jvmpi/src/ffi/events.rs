//! Enabling and disabling events.

use loadhook_jvm::sys::event as jvmti_event;

use super::layer;
use super::{arrivals, instructions, methods, probes, sources};
use crate::abi::{FAIL, Int, NOT_AVAILABLE, SUCCESS, event};

/// Carries out `EnableEvent`.
pub(super) fn enable(profiler: usize, event_type: Int) -> Int {
    let Some(jvmti) = layer::jvmti() else {
        return FAIL;
    };
    if sources::prepare(jvmti, event_type) != Some(true) {
        return NOT_AVAILABLE;
    }
    let had = layer::enabled(event_type) & (1 << profiler) != 0;
    if event_type == event::INSTRUCTION_START && layer::enabled(event_type) == 0 {
        instructions::begin();
    }
    probes::note(|| {
        // Before the event is sent, or the exit of a call that has just begun would be lost.
        methods::begin(profiler, event_type);
        layer::set_enabled(event_type, profiler, true);
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
        if event_type == event::CLASS_LOAD_HOOK && !had {
            probes::show_all(jni);
        } else {
            probes::update(jni);
        }
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
    probes::note(|| layer::set_enabled(event_type, profiler, false));
    if layer::is_running() {
        sources::update();
        if let Some(jni) = layer::current_jni().filter(|_| !layer::is_ending()) {
            probes::update(jni);
        }
    }
    SUCCESS
}
