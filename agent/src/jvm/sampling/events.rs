//! The callbacks of the engine's own JVM TI environment. They catch all panics.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::codes::{self, Compiled, RecordHeader, Stub, describe_compiled};
use super::engine::{Engine, own_tid};
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::{MethodKey, NO_CALLBACK};
use crate::jvm::reference::Local;
use crate::jvm::sys::{AddrLocationMap, Callbacks, Int, MethodId, Object, event};
use crate::jvm::visits::{Visited, Withdrawn};

/// The engine of this process.
static ENGINE: Visited<Engine> = Visited::none();

/// Gives the callbacks their engine. Returns `None` if they have an engine already.
pub(super) fn set_engine(engine: Engine) -> Option<&'static Engine> {
    ENGINE.put(Box::new(engine))
}

/// Takes the engine away from callbacks. Returns `None` if a callback that uses the engine does not end within
/// `longest`.
pub(super) fn withdraw_engine(longest: Duration) -> Option<Withdrawn<Engine>> {
    ENGINE.withdraw(longest)
}

/// The events that the engine needs.
pub(super) const EVENTS: [c_int; 5] = [
    event::DYNAMIC_CODE_GENERATED,
    event::COMPILED_METHOD_LOAD,
    event::COMPILED_METHOD_UNLOAD,
    event::CLASS_PREPARE,
    event::THREAD_END,
];

/// Returns the table of callbacks for the events in [`EVENTS`].
pub(super) fn callbacks() -> Callbacks {
    let mut functions = [NO_CALLBACK; event::COUNT];
    let places: [(c_int, *const c_void); 5] = [
        (
            event::DYNAMIC_CODE_GENERATED,
            dynamic_code_generated as *const c_void,
        ),
        (
            event::COMPILED_METHOD_LOAD,
            compiled_method_load as *const c_void,
        ),
        (
            event::COMPILED_METHOD_UNLOAD,
            compiled_method_unload as *const c_void,
        ),
        (event::CLASS_PREPARE, class_prepare as *const c_void),
        (event::THREAD_END, thread_end as *const c_void),
    ];
    for (event, function) in places {
        if let Some(place) = functions.get_mut((event - event::MIN) as usize) {
            *place = function;
        }
    }
    Callbacks { functions }
}

fn on_event(body: impl FnOnce(&'static Engine)) {
    if let Some(visit) = ENGINE.visit() {
        // The panic hook has logged a panic.
        let _ = catch_unwind(AssertUnwindSafe(|| body(visit.value())));
    }
}

unsafe extern "system" fn compiled_method_load(
    _jvmti: *mut c_void,
    method: MethodId,
    len: Int,
    address: *const c_void,
    _map_len: Int,
    _map: *const AddrLocationMap,
    compile_info: *const c_void,
) {
    on_event(|engine| {
        let (low, Ok(len)) = (address.expose_provenance(), usize::try_from(len)) else {
            return;
        };
        // SAFETY: the code and the record are valid during this call.
        let (first_bytes, inlining) = unsafe {
            let inlining = codes::inlining(low, compile_info.cast::<RecordHeader>());
            (codes::first_bytes(low, len), inlining)
        };
        let code = describe_compiled(engine.cache(), low, len, &first_bytes, &inlining);
        let compiled = Compiled {
            method: MethodKey(method),
            inlining,
            is_early: engine.is_replaying.load(Ordering::Relaxed),
        };
        engine.compiled(code, compiled);
    });
}

unsafe extern "system" fn compiled_method_unload(
    _jvmti: *mut c_void,
    method: MethodId,
    address: *const c_void,
) {
    on_event(|engine| engine.unloaded(address.addr(), MethodKey(method)));
}

unsafe extern "system" fn dynamic_code_generated(
    _jvmti: *mut c_void,
    name: *const c_char,
    address: *const c_void,
    len: Int,
) {
    on_event(|engine| {
        let Ok(len) = usize::try_from(len) else {
            return;
        };
        // SAFETY: the name is null or ends in a zero byte.
        let name = if name.is_null() {
            &[]
        } else {
            unsafe { CStr::from_ptr(name) }.to_bytes()
        };
        engine.generated(Stub::new(address.addr(), len, name));
    });
}

unsafe extern "system" fn class_prepare(
    _jvmti: *mut c_void,
    env: *mut c_void,
    _thread: Object,
    class: Object,
) {
    on_event(|engine| {
        // SAFETY: the JVM passes this thread's environment.
        let jni = unsafe { Jni::new(env) };
        engine.prepared(jni, Local::new(class));
    });
}

/// Handles `ThreadEnd`: stops the timer of the thread, even if [`AsyncEngine::thread_ended`] is not called.
///
/// [`AsyncEngine::thread_ended`]: super::AsyncEngine::thread_ended
unsafe extern "system" fn thread_end(_jvmti: *mut c_void, _env: *mut c_void, _thread: Object) {
    on_event(|engine| {
        engine.threads().end(engine.shared, own_tid());
    });
}
