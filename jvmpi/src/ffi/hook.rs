//! The bytes of a class on their way into the JVM: the profilers' `CLASS_LOAD_HOOK`, then probes for entries and exits.

use std::ffi::c_void;
use std::ptr::null;

use loadhook_jvm::jni::Jni;
use loadhook_jvm::reference::Local;
use loadhook_rewrite::class::Member;
use loadhook_rewrite::{Options, Outcome, Probes, Rewriter, Selector};

use super::layer;
use super::methods;
use crate::abi::{ClassLoadHook, Data, Event, Int, event};
use crate::probe_class;

/// The number of classes that are retransformed at once.
const BATCH: usize = 200;

/// Bytes that replace those of a class. The JVM allocated them and frees them.
pub(super) struct Replacement {
    pub(super) start: *const u8,
    pub(super) len: Int,
}

/// `malloc_f` of `CLASS_LOAD_HOOK`.
unsafe extern "C" fn allocate(size: u32) -> *mut c_void {
    layer::guarded(std::ptr::null_mut(), || {
        let buffer = layer::jvmti().and_then(|jvmti| jvmti.allocate(size as usize));
        buffer.map_or(std::ptr::null_mut(), |buffer| buffer.into_raw().0.cast())
    })
}

/// The bytes that replace `original`; `None` if the class stays as it is.
pub(super) fn replaced(jni: Jni<'_>, original: &[u8]) -> Option<Replacement> {
    let hooked = hooked(jni, original);
    if !wants_methods() {
        return hooked;
    }
    let bytes = match &hooked {
        // SAFETY: the profiler wrote `len` bytes there.
        Some(new) => unsafe { std::slice::from_raw_parts(new.start, new.len.max(0) as usize) },
        None => original,
    };
    match with_probes(bytes) {
        None => hooked,
        Some(new) => {
            if let (Some(old), Some(jvmti)) = (hooked, layer::jvmti()) {
                jvmti.deallocate(old.start.cast_mut().cast());
            }
            Some(new)
        }
    }
}

/// Shows the bytes to each profiler, which gets those of the one before.
fn hooked(jni: Jni<'_>, original: &[u8]) -> Option<Replacement> {
    let jvmti = layer::jvmti()?;
    let mut wanted = layer::wanted(event::CLASS_LOAD_HOOK);
    let mut present: Option<Replacement> = None;
    while wanted != 0 {
        let profiler = wanted.trailing_zeros() as usize;
        wanted &= wanted - 1;
        let (data, len) = match &present {
            Some(new) => (new.start, new.len),
            None => (original.as_ptr(), Int::try_from(original.len()).ok()?),
        };
        let class_load_hook = ClassLoadHook {
            data,
            len,
            new_data: null(),
            new_len: 0,
            malloc: Some(allocate),
        };
        let mut event = Event {
            event_type: event::CLASS_LOAD_HOOK,
            env: layer::id(jni),
            data: Data { class_load_hook },
        };
        layer::send_one(profiler, &mut event);
        // SAFETY: the event was made with this data.
        let answer = unsafe { event.data.class_load_hook };
        if answer.new_data.is_null() || answer.new_data == data || answer.new_len <= 0 {
            continue;
        }
        if let Some(old) = present.take() {
            jvmti.deallocate(old.start.cast_mut().cast());
        }
        present = Some(Replacement {
            start: answer.new_data,
            len: answer.new_len,
        });
    }
    present
}

/// Returns whether the layer inserts probes into methods.
pub(super) fn wants_methods() -> bool {
    let any = [
        event::METHOD_ENTRY,
        event::METHOD_ENTRY2,
        event::METHOD_EXIT,
    ];
    methods::is_defined() && any.iter().any(|event| layer::enabled(*event) != 0)
}

/// Returns whether classes that are loaded already must be shown to the hook.
pub(super) fn is_needed() -> bool {
    wants_methods() || layer::enabled(event::CLASS_LOAD_HOOK) != 0
}

/// Gives every method a number.
struct EveryMethod;

impl Selector for EveryMethod {
    fn method(&mut self, _method: &Member<'_, '_>) -> Probes {
        Probes {
            timing: methods::next_number(),
            ..Probes::default()
        }
    }
}

fn with_probes(bytes: &[u8]) -> Option<Replacement> {
    let jvmti = layer::jvmti()?;
    let mut rewriter = Rewriter::new(Options {
        owner: probe_class::NAME.to_owned(),
        receiver: layer::enabled(event::METHOD_ENTRY2) != 0,
        ..Options::default()
    });
    match rewriter.rewrite(bytes, &mut EveryMethod, |len| jvmti.allocate(len)) {
        Ok(Outcome::Rewritten(buffer)) => {
            let (start, len) = buffer.into_raw();
            Some(Replacement { start, len })
        }
        Ok(Outcome::Unchanged) | Err(_) => None,
    }
}

/// Shows the hook all classes that are loaded.
pub(super) fn retransform_loaded(jni: Jni<'_>) {
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

/// Retransforms classes. If the JVM refuses them, those that it accepts.
fn retransform(classes: &[Local<'_>]) {
    let Some(jvmti) = layer::jvmti() else {
        return;
    };
    if jvmti.retransform(classes).is_err() && classes.len() > 1 {
        let (one, other) = classes.split_at(classes.len() / 2);
        retransform(one);
        retransform(other);
    }
}
