//! The entry point for a JVM with JVMPI, and the function to which this JVM sends its events.
#![allow(non_snake_case)]

use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use loadhook_jvm::jvmpi::{self as abi, event};
use loadhook_profile::gc_events::{ArenaId, ObjectId};

use super::super::entry::{self, log_panics, text};
use super::super::jni::Jni;
use super::super::sys::{self, Int, JNI_ERR, JNI_OK};
use super::super::visits::Visited;
use super::interface::Jvmpi;
use crate::diagnostics;
use crate::jvmpi::events::{AllocatedObject, Event, LoadedClass, LoadedMethod, MethodId, ThreadId};
use crate::jvmpi::profiler::{self, NotLoaded, Profiler};

/// The profiler of this JVM.
pub(super) static PROFILER: Visited<Profiler> = Visited::none();

/// Returns whether the agent was loaded as a JVMPI profiler in this JVM.
pub(crate) fn is_loaded() -> bool {
    PROFILER.visit().is_some()
}

/// Loads the agent as a JVMPI profiler, for the option `-Xrun`.
///
/// # Safety
/// Called by the JVM, as the JVMPI specification says.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn JVM_OnLoad(
    vm: *mut sys::Table,
    options: *mut c_char,
    _reserved: *mut c_void,
) -> Int {
    log_panics();
    let loaded = catch_unwind(AssertUnwindSafe(|| -> Result<(), NotLoaded> {
        // SAFETY: the JVM passes null or a string that ends in a zero byte.
        let options = unsafe { text(options) };
        // SAFETY: `vm` is the running JVM's.
        let jvmpi = unsafe { Jvmpi::of(vm) }.ok_or(NotLoaded::NoJvmpi)?;
        if entry::visit().is_some() || is_loaded() {
            return Err(NotLoaded::Twice);
        }
        let loaded = Box::new(profiler::load(jvmpi, &options)?);
        let profiler = PROFILER.put(loaded).ok_or(NotLoaded::Twice)?;
        jvmpi.set_notify(notify);
        profiler.enable_events()
    }));
    match loaded {
        Ok(Ok(())) => JNI_OK,
        // `-Xrun` calls this function in any JVM. Without JVMPI, the program runs without the agent.
        Ok(Err(error @ NotLoaded::NoJvmpi)) => {
            diagnostics::line(&error.to_string());
            JNI_OK
        }
        Ok(Err(error)) => {
            diagnostics::line(&error.to_string());
            JNI_ERR
        }
        // A panic is a fault of the agent, not of the user, so the program runs without the agent.
        Err(_) => JNI_OK,
    }
}

/// Receives the events. Catches panics.
unsafe extern "C" fn notify(event: *mut abi::Event) {
    let Some(visit) = PROFILER.visit() else {
        return;
    };
    let profiler = visit.value();
    // The panic hook has logged a panic.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the JVM passes an event, which is valid for this call.
        let event = unsafe { &mut *event };
        if event.event_type == event::CLASS_LOAD_HOOK {
            // SAFETY: the event has this type.
            instrument(profiler, unsafe { &mut event.data.class_load_hook });
        } else if let Some(event) = event_of(event) {
            profiler.handle(event);
        }
    }));
}

/// A buffer for the bytes of a class, which the JVM allocates and frees.
struct ClassBuffer<'e>(&'e mut [u8]);

impl AsMut<[u8]> for ClassBuffer<'_> {
    fn as_mut(&mut self) -> &mut [u8] {
        self.0
    }
}

/// Passes the bytes of a class to the hook. Sets the new bytes in the event.
fn instrument(profiler: &Profiler, hook: &mut abi::ClassLoadHook) {
    // For a class that stays as it is, the specification requires the old pointer and length.
    (hook.new_data, hook.new_len) = (hook.data, hook.len);
    let (Ok(len), Some(malloc)) = (usize::try_from(hook.len), hook.malloc) else {
        return;
    };
    // SAFETY: the JVM promises `len` readable bytes for this call.
    let bytes = unsafe { std::slice::from_raw_parts(hook.data, len) };
    let allocate = |len: usize| {
        let wanted = u32::try_from(len).ok()?;
        // SAFETY: the JVM passes the function for this.
        let buffer: *mut u8 = unsafe { malloc(wanted) }.cast();
        if buffer.is_null() {
            return None;
        }
        // SAFETY: the JVM has allocated `len` bytes. They are initialised before they are read.
        unsafe {
            buffer.write_bytes(0, len);
            Some(ClassBuffer(std::slice::from_raw_parts_mut(buffer, len)))
        }
    };
    if let Some(new) = profiler.instrument(bytes, allocate)
        && let Ok(len) = Int::try_from(new.0.len())
    {
        // These are set last, after everything that can fail.
        (hook.new_data, hook.new_len) = (new.0.as_ptr(), len);
    }
}

/// Converts an event to a safe value; `None` if the agent does not handle the event. Allocates no memory for the events
/// that come while threads are suspended.
fn event_of(event: &abi::Event) -> Option<Event<'_>> {
    let thread = ThreadId(event.env.addr());
    // SAFETY: an event that is not requested by another thread has the environment of this thread.
    let jni = || (!event.env.is_null()).then(|| unsafe { Jni::new(event.env) });
    let is_requested = event.event_type & abi::REQUESTED != 0;
    let data = &event.data;
    let id = |id: usize| ObjectId(id as u64);
    // SAFETY: each type of event has its own data.
    Some(unsafe {
        match event.event_type & !abi::REQUESTED {
            event::JVM_INIT_DONE => Event::InitDone(jni()),
            event::JVM_SHUT_DOWN => Event::ShutDown(jni()),
            event::THREAD_START => Event::ThreadStart {
                thread: ThreadId(data.thread_start.env.addr()),
                name: name(data.thread_start.name),
            },
            event::THREAD_END => Event::ThreadEnd {
                thread,
                jni: jni()?,
            },
            event::CLASS_LOAD => Event::ClassLoad(loaded_class(&data.class_load)),
            event::CLASS_UNLOAD => Event::ClassUnload(id(data.object)),
            event::OBJECT_ALLOC => Event::ObjectAlloc {
                thread,
                object: allocated(&data.object_alloc),
                is_requested,
            },
            event::OBJECT_FREE => Event::ObjectFree(id(data.object)),
            event::OBJECT_MOVE => Event::ObjectMove {
                arena: ArenaId(data.object_move.arena),
                object: id(data.object_move.object),
                new_arena: ArenaId(data.object_move.new_arena),
                new_object: id(data.object_move.new_object),
            },
            event::ARENA_NEW => Event::NewArena(ArenaId(data.new_arena.arena)),
            event::ARENA_DELETE => Event::DeleteArena(ArenaId(data.arena)),
            event::GC_START => Event::CollectionStart,
            event::GC_FINISH => Event::CollectionFinish,
            _ => return None,
        }
    })
}

fn allocated(alloc: &abi::ObjectAlloc) -> AllocatedObject {
    AllocatedObject {
        arena: ArenaId(alloc.arena),
        object: ObjectId(alloc.object as u64),
        class: (alloc.class != 0).then_some(ObjectId(alloc.class as u64)),
        kind: alloc.is_array,
        size: u64::try_from(alloc.size).unwrap_or(0),
    }
}

/// Returns a text of an event; empty if there is none.
///
/// # Safety
/// `text` must be null or end in a zero byte, and live as long as `'e`.
unsafe fn name<'e>(text: *const c_char) -> &'e [u8] {
    if text.is_null() {
        return b"";
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_bytes()
}

/// Converts the data of a `CLASS_LOAD` to a safe value.
///
/// # Safety
/// The lists and texts must be the JVM's, and live as long as `'e`.
unsafe fn loaded_class<'e>(load: &abi::ClassLoad) -> LoadedClass<'e> {
    let count = usize::try_from(load.num_methods).unwrap_or(0);
    let methods: &[abi::Method] = if load.methods.is_null() {
        &[]
    } else {
        // SAFETY: the JVM passes `count` methods.
        unsafe { std::slice::from_raw_parts(load.methods, count) }
    };
    // SAFETY: the texts of an event end in a zero byte, and live as long as the event.
    let method = |method: &abi::Method| unsafe {
        LoadedMethod {
            method: MethodId(method.id.addr()),
            name: name(method.name),
            descriptor: name(method.signature),
            line: u32::try_from(method.start_line).ok(),
        }
    };
    // SAFETY: as above.
    let (class_name, source) = unsafe { (name(load.class_name), name(load.source_name)) };
    LoadedClass {
        class: ObjectId(load.class as u64),
        name: class_name,
        source_file: (!source.is_empty()).then_some(source),
        methods: methods.iter().map(method).collect(),
    }
}
