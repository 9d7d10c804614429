//! Probes in loaded classes. They are inserted when the first profiler enables an event of methods, and removed when
//! the last profiler disables these events, so that they cost nothing afterwards.

use std::sync::{Mutex, MutexGuard, PoisonError};

use loadhook_jvm::jni::Jni;
use loadhook_jvm::reference::Local;

use super::hook::{self, Kind};
use super::{code_facts, layer};
use crate::abi::event;

/// The number of classes that are retransformed at once.
const BATCH: usize = 200;

struct State {
    /// The probes that classes get from now on.
    wanted: Kind,
    /// Number of times that the loaded classes had to be shown to the hook, and number of the last time that is done.
    asked: u32,
    done: u32,
    /// True while a thread shows classes to the hook.
    is_changing: bool,
}

static STATE: Mutex<State> = Mutex::new(State {
    wanted: Kind::None,
    asked: 0,
    done: 0,
    is_changing: false,
});

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a change of the enabled events, and notes whether classes need other probes now.
pub(super) fn note(change: impl FnOnce()) {
    let mut state = state();
    change();
    let wanted = hook::kind();
    if wanted == state.wanted {
        return;
    }
    state.wanted = wanted;
    state.asked += 1;
}

/// Notes that loaded classes have to be shown to the hook again, if a profiler sees their bytes or they need probes.
pub(super) fn ask() {
    let mut state = state();
    if state.wanted != Kind::None || layer::enabled(event::CLASS_LOAD_HOOK) != 0 {
        state.asked += 1;
    }
}

/// Shows all loaded classes to the hook again, even if the probes stay the same.
pub(super) fn show_all(jni: Jni<'_>) {
    state().asked += 1;
    update(jni);
}

/// Brings the probes of loaded classes up to date. If another thread is doing so, leaves the work to that thread.
pub(super) fn update(jni: Jni<'_>) {
    // The layer's class may have been defined since the last call.
    note(|| {});
    loop {
        let asked = {
            let mut state = state();
            if state.is_changing || state.done == state.asked {
                return;
            }
            state.is_changing = true;
            state.asked
        };
        retransform_loaded(jni);
        let mut state = state();
        state.is_changing = false;
        state.done = asked;
    }
}

/// Retransforms all loaded classes, so that the hook gets their bytes.
fn retransform_loaded(jni: Jni<'_>) {
    let Some(jvmti) = layer::jvmti() else {
        return;
    };
    jni.framed(|jni| {
        jni.ensure_local_capacity();
        let classes = jvmti.loaded_classes(jni).unwrap_or_default();
        let modifiable: Vec<Local<'_>> = classes
            .into_iter()
            .filter(|class| jvmti.is_modifiable(*class))
            .collect();
        modifiable.chunks(BATCH).for_each(retransform);
    });
}

/// Retransforms classes. If the JVM refuses them, retransforms halves, down to single classes.
fn retransform(classes: &[Local<'_>]) {
    let Some(jvmti) = layer::jvmti() else {
        return;
    };
    let result = code_facts::while_changing(|| jvmti.retransform(classes));
    if result.is_err() && classes.len() > 1 {
        let (one, other) = classes.split_at(classes.len() / 2);
        retransform(one);
        retransform(other);
    }
}
