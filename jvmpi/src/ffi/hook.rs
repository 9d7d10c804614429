//! The bytes of a class on their way into the JVM: the profilers' `CLASS_LOAD_HOOK`, then probes for entries and exits.

use std::ffi::c_void;
use std::ptr::null;

use loadhook_jvm::jni::Jni;
use loadhook_rewrite::class::Member;
use loadhook_rewrite::{Options, Outcome, Probes, Rewriter, Selector};

use super::layer;
use super::methods;
use crate::abi::{ClassLoadHook, Data, Event, Int, event};
use crate::probe_class;

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
    let kind = kind();
    if kind == Kind::None {
        return hooked;
    }
    let bytes = match &hooked {
        // SAFETY: the profiler wrote `len` bytes there.
        Some(new) => unsafe { std::slice::from_raw_parts(new.start, new.len.max(0) as usize) },
        None => original,
    };
    match with_probes(bytes, kind) {
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

/// The probes that methods get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    None,
    Plain,
    /// Entries get the object, too.
    WithReceiver,
}

/// The probes that the enabled events need.
pub(super) fn kind() -> Kind {
    let is_enabled = |event: Int| layer::enabled(event) != 0;
    if !methods::is_defined() {
        Kind::None
    } else if is_enabled(event::METHOD_ENTRY2) {
        Kind::WithReceiver
    } else if is_enabled(event::METHOD_ENTRY) || is_enabled(event::METHOD_EXIT) {
        Kind::Plain
    } else {
        Kind::None
    }
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

fn with_probes(bytes: &[u8], kind: Kind) -> Option<Replacement> {
    let jvmti = layer::jvmti()?;
    let mut rewriter = Rewriter::new(Options {
        owner: probe_class::NAME.to_owned(),
        receiver: kind == Kind::WithReceiver,
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
