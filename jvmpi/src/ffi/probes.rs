//! Probes in loaded classes. They are inserted when the first profiler enables an event of methods, and removed when
//! the last profiler disables these events, so that they cost nothing afterwards.

use std::sync::{Mutex, MutexGuard, PoisonError};

use loadhook_jvm::jni::Jni;
use loadhook_jvm::reference::Local;

use super::hook::{self, Kind};
use super::turns::Turns;
use super::{code_facts, layer};
use crate::abi::event;

/// The number of classes that are retransformed at once.
const BATCH: usize = 200;

/// The probes that classes get from now on.
static WANTED: Mutex<Kind> = Mutex::new(Kind::None);
/// The work of showing the loaded classes to the hook.
static TURNS: Turns = Turns::new();

fn wanted() -> MutexGuard<'static, Kind> {
    WANTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a change of the enabled events, and notes whether classes need other probes now. `change` returns whether all
/// loaded classes have to be shown to the hook again in any case. Returns whether they have to be shown.
pub(super) fn note(change: impl FnOnce() -> bool) -> bool {
    let mut wanted = wanted();
    let shows_all = change();
    let kind = hook::kind();
    let is_asked = shows_all || kind != *wanted;
    if is_asked {
        *wanted = kind;
        TURNS.ask();
    }
    is_asked
}

/// Notes that loaded classes have to be shown to the hook again, if a profiler sees their bytes or they need probes.
pub(super) fn ask() {
    let wanted = wanted();
    if *wanted != Kind::None || layer::enabled(event::CLASS_LOAD_HOOK) != 0 {
        TURNS.ask();
    }
}

/// Shows all loaded classes to the hook again, even if the probes stay the same.
pub(super) fn show_all(jni: Jni<'_>) {
    TURNS.ask();
    update(jni, true);
}

/// Brings the probes of loaded classes up to date. If another thread is doing so and `waits` is true, waits until it is
/// done, or until that thread makes no progress: it may wait for a lock that the calling thread holds.
pub(super) fn update(jni: Jni<'_>, waits: bool) {
    // The layer's class may have been defined since the last call.
    let is_asked = note(|| false);
    if waits || is_asked {
        TURNS.work(|| retransform_loaded(jni));
    } else {
        TURNS.work_if_free(|| retransform_loaded(jni));
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
        for batch in modifiable.chunks(BATCH) {
            retransform(batch);
            TURNS.step();
        }
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
