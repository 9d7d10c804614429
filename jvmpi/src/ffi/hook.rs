//! The bytes of a class on their way into the JVM: the profilers' `CLASS_LOAD_HOOK`, then probes for entries and exits.

use std::ffi::c_void;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, Ordering};

use loadhook_jvm::jni::Jni;
use loadhook_jvm::reference::Local;
use loadhook_rewrite::class::Member;
use loadhook_rewrite::{
    ClassFile, Options, Outcome, Probes, Rewriter, Selector, UnknownCodeAttributes,
};
use loadhook_text::{count, printable_bytes};

use super::method_ids::Methods;
use super::{layer, method_ids, methods, own};
use crate::abi::{ClassLoadHook, Data, Event, Int, event};
use crate::probe_class;

/// The first version of Java with virtual threads.
const VIRTUAL_THREADS: u32 = 21;

/// A class whose bytes are on their way into the JVM.
pub(super) struct Arriving<'f> {
    pub(super) bytes: &'f [u8],
    /// The class, if it exists and is retransformed or redefined.
    pub(super) class: Local<'f>,
    pub(super) loader: Local<'f>,
}

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

/// Returns the bytes that replace those of the class; `None` if the class stays as it is.
pub(super) fn replaced(jni: Jni<'_>, arriving: &Arriving<'_>) -> Option<Replacement> {
    let hooked = hooked(jni, arriving.bytes);
    let kind = kind();
    if kind == Kind::None {
        return hooked;
    }
    let bytes = match &hooked {
        // SAFETY: the profiler wrote `len` bytes there.
        Some(new) => unsafe { std::slice::from_raw_parts(new.start, new.len.max(0) as usize) },
        None => arriving.bytes,
    };
    match with_probes(bytes, kind, arriving) {
        None => hooked,
        Some(new) => {
            if let (Some(old), Some(jvmti)) = (hooked, layer::jvmti()) {
                jvmti.deallocate(old.start.cast_mut().cast());
            }
            Some(new)
        }
    }
}

/// Shows the bytes to one profiler after the other. Each gets the bytes that the profiler before it returned.
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
    /// Probes at entries also pass the object.
    WithReceiver,
}

/// Returns the kind of probes that the enabled events need.
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

/// Classes and methods that run while the JDK mounts or unmounts a virtual thread. A class is meant with its nested ones
/// if its name ends in `$`; all its methods are meant if none is named.
const MOUNTING: [(&[u8], &[&[u8]]); 8] = [
    (b"java/lang/VirtualThread", &[]),
    (b"java/lang/VirtualThread$VThreadContinuation", &[]),
    (b"java/lang/VirtualThread$VThreadContinuation$", &[]),
    (b"jdk/internal/vm/Continuation", &[]),
    (b"jdk/internal/vm/StackChunk", &[]),
    (
        b"java/lang/Thread",
        &[
            b"isInterrupted",
            b"setInterrupt",
            b"clearInterrupt",
            b"getContinuation",
            b"setContinuation",
        ],
    ),
    (
        b"jdk/internal/misc/Unsafe",
        &[b"compareAndSetBoolean", b"bool2byte", b"byte2bool"],
    ),
    // The methods of `JavaLangAccess`.
    (
        b"java/lang/System$",
        &[
            b"currentCarrierThread",
            b"getContinuation",
            b"setContinuation",
            b"scopedValueCache",
            b"setScopedValueCache",
            b"virtualThreadContinuationScope",
        ],
    ),
];

/// Returns whether this method, or with no name the whole class, is one of [`MOUNTING`].
fn is_mounting(class: &[u8], method: Option<&[u8]>) -> bool {
    MOUNTING.iter().any(|(name, methods)| {
        let is_class = class == *name || name.ends_with(b"$") && class.starts_with(name);
        is_class
            && match method {
                Some(method) => methods.contains(&method),
                None => methods.is_empty(),
            }
    })
}

/// Gives every method a number, except those of [`MOUNTING`]. A profiler that asked for a stack in such a method would
/// wait for ever.
struct EveryMethod {
    methods: Methods,
}

impl Selector for EveryMethod {
    fn class(&mut self, class: &ClassFile<'_>) -> bool {
        !is_mounting(class.name(), None)
    }

    fn wants(&mut self, method: &Member<'_, '_>) -> bool {
        own::java_version() < VIRTUAL_THREADS
            || !is_mounting(method.class().name(), Some(method.name()))
    }

    fn method(&mut self, method: &Member<'_, '_>) -> Probes {
        let number = self.methods.number(method.name(), method.descriptor());
        if number.is_none() && !IS_FULL_TOLD.swap(true, Ordering::Relaxed) {
            let are_used_up = method_ids::are_used_up();
            own::say(&without_number(
                method.class().name(),
                method.name(),
                are_used_up,
            ));
        }
        Probes {
            timing: number,
            ..Probes::default()
        }
    }
}

static IS_FULL_TOLD: AtomicBool = AtomicBool::new(false);

/// Makes the message about the first method for which there is no number, because they are used up or because there is
/// no memory for more.
fn without_number(class: &[u8], method: &[u8], are_used_up: bool) -> String {
    let class = printable_bytes(class).replace('/', ".");
    let method = printable_bytes(method);
    if !are_used_up {
        return format!(
            "there is no memory for the numbers of more methods: METHOD_ENTRY, METHOD_ENTRY2 and METHOD_EXIT do not \
             come from {class}.{method}, and may not come from methods that are loaded later; give the program more \
             memory or addresses to get them"
        );
    }
    format!(
        "{most} numbers for methods have been given, and no more methods can have events: METHOD_ENTRY, METHOD_ENTRY2 \
         and METHOD_EXIT do not come from {class}.{method}, nor from methods that are loaded later; run the program \
         anew to get them",
        most = count(method_ids::MOST as u64),
    )
}

fn with_probes(bytes: &[u8], kind: Kind, arriving: &Arriving<'_>) -> Option<Replacement> {
    let jvmti = layer::jvmti()?;
    let mut rewriter = Rewriter::new(Options {
        owner: probe_class::NAME.to_owned(),
        receiver: kind == Kind::WithReceiver,
        // Every method must have events, and the JVM does not use such an attribute.
        unknown_code_attributes: UnknownCodeAttributes::Drop,
        ..Options::default()
    });
    let mut every = EveryMethod {
        methods: Methods::of(arriving.class),
    };
    let outcome = rewriter.rewrite(bytes, &mut every, |len| jvmti.allocate(len));
    let Ok(Outcome::Rewritten(buffer)) = outcome else {
        return None;
    };
    let class = ClassFile::parse(bytes).ok()?;
    method_ids::add(arriving.class, arriving.loader, class.name(), every.methods);
    let (start, len) = buffer.into_raw();
    Some(Replacement { start, len })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_method_without_number_is_named() {
        let message = without_number(b"com/example/Cart", b"add\n", true);
        let expected = "16,777,216 numbers for methods have been given, and no more methods can have events: \
                        METHOD_ENTRY, METHOD_ENTRY2 and METHOD_EXIT do not come from com.example.Cart.add\\n, nor from \
                        methods that are loaded later; run the program anew to get them";
        assert_eq!(message, expected);
        let message = without_number(b"com/example/Cart", b"add", false);
        assert!(message.contains("no memory") && message.contains(" com.example.Cart.add,"));
    }
}
