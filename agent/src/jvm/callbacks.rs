//! The entry points of the agent's library, and its callbacks for JVM TI events. These functions catch all panics.
#![allow(non_snake_case)]

use std::ffi::{CStr, c_char, c_int, c_uchar, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use loadhook_settings::attach::{DETACH, Refusal};
use loadhook_settings::{AgentOptions, HeapDumpRequest};

use super::class_definers::{self, Function};
use super::entry::{install, log_panics, on_event, on_event_without_jni, text, visit};
use super::jni::Jni;
use super::jvmpi::notify as jvmpi;
use super::jvmti::{self, Jvmti, MethodKey, NO_CALLBACK};
use super::reference::Local;
use super::sleeps::{self, Sleeps};
use super::sys::{
    self, Boolean, Callbacks, Int, JNI_ERR, JNI_OK, JNI_VERSION_10, Long, MethodId, Object, event,
};
use super::vm::{environment, interface, set_vm};
use crate::agent::Agent;
use crate::allocations::AllocationEvent;
use crate::attach::session;
use crate::instrument::pace;
use crate::load::{self, LoadError};
use crate::{class_load, diagnostics, events, heap_dump, monitor_events};

/// Loads the agent at the start of the JVM, for the option `-agentpath`.
///
/// # Safety
/// Called by the JVM, as the JVM TI specification says.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut sys::Table,
    options: *mut c_char,
    _reserved: *mut c_void,
) -> Int {
    log_panics();
    let loaded = catch_unwind(AssertUnwindSafe(|| -> Result<(), LoadError> {
        // SAFETY: the JVM passes null or a string that ends in a zero byte.
        let options = unsafe { text(options) };
        // SAFETY: `vm` is the running JVM's.
        let jvmti = unsafe { environment(vm) }.ok_or(LoadError::NoJvmti)?;
        let is_second = || {
            diagnostics::line(
                "the agent is loaded already; give -agentpath once, because only the first one has an effect",
            );
            Ok(())
        };
        if visit().is_some() || jvmpi::is_loaded() {
            return is_second();
        }
        // SAFETY: `vm` is the running JVM's.
        unsafe { set_vm(vm) };
        let Some(agent) = install(load::load(jvmti, &options)?) else {
            return is_second();
        };
        session::loaded(agent);
        connect(jvmti, &[event::VM_START, event::VM_INIT, event::VM_DEATH])
            .map_err(LoadError::NoEvents)?;
        let needs_natives = agent.options().rewrites() || agent.notes_sleeps();
        if needs_natives && jvmti.notify(event::NATIVE_METHOD_BIND, true).is_err() {
            agent.hidden_classes.give_up();
        }
        Ok(())
    }));
    match loaded {
        Ok(Ok(())) => JNI_OK,
        Ok(Err(error)) if error.is_of_user() => {
            diagnostics::line(&error.to_string());
            JNI_ERR
        }
        Ok(Err(error)) => {
            diagnostics::line(&format!("{error}; nothing is instrumented"));
            JNI_OK
        }
        // A panic is a fault of the agent, not of the user, so the program runs without the agent.
        Err(_) => JNI_OK,
    }
}

/// Handles a request to attach to the running JVM. The options choose what is done: the heap is dumped, a new agent
/// begins to profile, or the agent that is at work leaves. A heap dump does not affect an agent that is at work.
///
/// # Safety
/// Called by the JVM, as the JVM TI specification says.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnAttach(
    vm: *mut sys::Table,
    options: *mut c_char,
    _reserved: *mut c_void,
) -> Int {
    log_panics();
    let done = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the JVM passes null or a string that ends in a zero byte.
        let options = unsafe { text(options) };
        // SAFETY: `vm` is the running JVM's, and this is one of its threads.
        let Some(jni) = (unsafe { thread_environment(vm) }) else {
            diagnostics::line(
                "the JVM gives the attaching thread no JNI environment; nothing is done",
            );
            return JNI_ERR;
        };
        if HeapDumpRequest::is_meant(&options) {
            // SAFETY: `vm` is the running JVM's.
            let environment = || unsafe { environment(vm) };
            return dump_heap(&options, jni, environment);
        }
        let done = if options == DETACH {
            session::detach(jni)
        } else {
            let environment = || {
                // SAFETY: `vm` is the running JVM's.
                unsafe {
                    set_vm(vm);
                    environment(vm)
                }
            };
            session::attach(&options, jni, |settings| {
                make_attached(settings, environment)
            })
        };
        match done {
            Ok(()) => JNI_OK,
            Err(refusal) => refusal as Int,
        }
    }));
    // An error here is a panic, which the panic hook has logged.
    done.unwrap_or(Refusal::Failed as Int)
}

/// Dumps the heap. Returns the number that `Agent_OnAttach` returns to the JVM.
fn dump_heap(options: &str, jni: Jni<'_>, environment: impl Fn() -> Option<Jvmti>) -> Int {
    match options.parse::<HeapDumpRequest>() {
        Ok(request) if heap_dump::run(&request, jni, environment) => JNI_OK,
        Ok(_) => JNI_ERR,
        Err(error) => {
            diagnostics::line(&error.to_string());
            JNI_ERR
        }
    }
}

/// Makes an agent that is attached to a running JVM, and enables the event of the JVM's end.
fn make_attached(
    settings: AgentOptions,
    environment: impl Fn() -> Option<Jvmti>,
) -> Result<&'static Agent, LoadError> {
    if jvmpi::is_loaded() {
        return Err(LoadError::Watched);
    }
    let jvmti = awaited(environment).ok_or(LoadError::NoJvmti)?;
    // The agent is made last. If a step after that failed, the agent's sampler would have to be removed again.
    let connected = connect(jvmti, &[event::VM_DEATH]).map_err(LoadError::NoEvents);
    let made = connected.and_then(|()| {
        let agent = load::attached(jvmti, settings)?;
        install(agent).ok_or(LoadError::Watched)
    });
    made.inspect_err(|_| jvmti.dispose())
}

/// Gets an environment of JVM TI. Waits for a few seconds if there is none yet, because a starting JVM accepts agents
/// before it offers JVM TI.
fn awaited(environment: impl Fn() -> Option<Jvmti>) -> Option<Jvmti> {
    const LONGEST: Duration = Duration::from_secs(5);
    let began = Instant::now();
    loop {
        let found = environment();
        if found.is_some() || began.elapsed() > LONGEST {
            return found;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Sets the callbacks of all events, and enables `events`.
fn connect(jvmti: Jvmti, events: &[c_int]) -> jvmti::Result<()> {
    class_definers::set_hook(|use_hook| {
        if let Some(visit) = visit() {
            use_hook(visit.value());
        }
    });
    jvmti.set_callbacks(&callbacks())?;
    events
        .iter()
        .try_for_each(|event| jvmti.notify(*event, true))
}

/// Returns the JNI environment of this thread.
///
/// # Safety
/// `vm` must be the running JVM's, and this thread attached to it for `'e`.
unsafe fn thread_environment<'e>(vm: *mut sys::Table) -> Option<Jni<'e>> {
    // SAFETY: the caller's promise.
    unsafe { interface(vm, JNI_VERSION_10).map(|env| Jni::new(env)) }
}

fn callbacks() -> Callbacks {
    let mut functions = [NO_CALLBACK; event::COUNT];
    let mut set = |event: c_int, function: *const c_void| {
        if let Some(place) = functions.get_mut((event - event::MIN) as usize) {
            *place = function;
        }
    };
    set(event::VM_START, vm_start as *const c_void);
    set(event::VM_INIT, vm_init as *const c_void);
    set(event::VM_DEATH, vm_death as *const c_void);
    set(event::THREAD_START, thread_start as *const c_void);
    set(event::THREAD_END, thread_end as *const c_void);
    set(
        event::VIRTUAL_THREAD_END,
        virtual_thread_end as *const c_void,
    );
    set(
        event::CLASS_FILE_LOAD_HOOK,
        class_file_load_hook as *const c_void,
    );
    set(
        event::NATIVE_METHOD_BIND,
        native_method_bind as *const c_void,
    );
    set(event::DATA_DUMP_REQUEST, data_dump_request as *const c_void);
    set(event::MONITOR_WAIT, monitor_wait as *const c_void);
    set(event::MONITOR_WAITED, monitor_waited as *const c_void);
    set(
        event::MONITOR_CONTENDED_ENTER,
        monitor_contended_enter as *const c_void,
    );
    set(
        event::MONITOR_CONTENDED_ENTERED,
        monitor_contended_entered as *const c_void,
    );
    set(event::VM_OBJECT_ALLOC, object_alloc as *const c_void);
    set(event::SAMPLED_OBJECT_ALLOC, object_alloc as *const c_void);
    set(
        event::GARBAGE_COLLECTION_START,
        garbage_collection_start as *const c_void,
    );
    set(
        event::GARBAGE_COLLECTION_FINISH,
        garbage_collection_finish as *const c_void,
    );
    Callbacks { functions }
}

unsafe extern "system" fn vm_start(_jvmti: *mut c_void, env: *mut c_void) {
    // SAFETY: the JVM passes this thread's environment.
    unsafe { on_event(env, events::vm_start) }
}

unsafe extern "system" fn vm_init(_jvmti: *mut c_void, env: *mut c_void, thread: Object) {
    // SAFETY: the JVM passes this thread's environment.
    unsafe {
        on_event(env, |agent, jni| {
            events::vm_init(
                agent,
                jni,
                Local::new(thread),
                session::leave_from_own_thread,
            )
        })
    }
}

unsafe extern "system" fn vm_death(_jvmti: *mut c_void, env: *mut c_void) {
    // SAFETY: the JVM passes this thread's environment.
    unsafe { on_event(env, events::vm_death) }
}

unsafe extern "system" fn thread_start(_jvmti: *mut c_void, env: *mut c_void, thread: Object) {
    // SAFETY: the JVM passes this thread's environment.
    unsafe {
        on_event(env, |agent, jni| {
            events::platform_thread_start(agent, jni, Local::new(thread))
        })
    }
}

unsafe extern "system" fn thread_end(_jvmti: *mut c_void, env: *mut c_void, thread: Object) {
    // SAFETY: the JVM passes this thread's environment.
    unsafe {
        on_event(env, |agent, jni| {
            events::platform_thread_end(agent, jni, Local::new(thread))
        })
    }
}

unsafe extern "system" fn virtual_thread_end(
    _jvmti: *mut c_void,
    env: *mut c_void,
    thread: Object,
) {
    // SAFETY: the JVM passes this thread's environment.
    unsafe {
        on_event(env, |agent, jni| {
            agent.had_virtual_threads.store(true, Ordering::Relaxed);
            events::thread_end(agent, jni, Local::new(thread));
        })
    }
}

unsafe extern "system" fn data_dump_request(_jvmti: *mut c_void) {
    on_event_without_jni(events::data_dump_request);
}

unsafe extern "system" fn monitor_wait(
    _jvmti: *mut c_void,
    env: *mut c_void,
    thread: Object,
    object: Object,
    timeout: Long,
) {
    let (thread, object) = (Local::new(thread), Local::new(object));
    // SAFETY: the JVM passes this thread's environment.
    unsafe {
        on_event(env, |agent, jni| {
            monitor_events::wait(agent, jni, thread, object, timeout)
        })
    }
}

unsafe extern "system" fn monitor_waited(
    _jvmti: *mut c_void,
    env: *mut c_void,
    thread: Object,
    object: Object,
    _timed_out: Boolean,
) {
    let (thread, object) = (Local::new(thread), Local::new(object));
    // SAFETY: the JVM passes this thread's environment.
    unsafe {
        on_event(env, |agent, jni| {
            monitor_events::waited(agent, jni, thread, object)
        })
    }
}

unsafe extern "system" fn monitor_contended_enter(
    _jvmti: *mut c_void,
    env: *mut c_void,
    thread: Object,
    object: Object,
) {
    let (thread, object) = (Local::new(thread), Local::new(object));
    // SAFETY: the JVM passes this thread's environment.
    unsafe {
        on_event(env, |agent, jni| {
            monitor_events::contended_enter(agent, jni, thread, object)
        })
    }
}

unsafe extern "system" fn monitor_contended_entered(
    _jvmti: *mut c_void,
    env: *mut c_void,
    thread: Object,
    _object: Object,
) {
    // SAFETY: the JVM passes this thread's environment.
    unsafe {
        on_event(env, |agent, jni| {
            monitor_events::contended_entered(agent, jni, Local::new(thread))
        })
    }
}

/// Callback of `SampledObjectAlloc` and of `VMObjectAlloc`; only one of the events is enabled.
unsafe extern "system" fn object_alloc(
    _jvmti: *mut c_void,
    env: *mut c_void,
    thread: Object,
    object: Object,
    class: Object,
    size: Long,
) {
    let event = AllocationEvent {
        thread: Local::new(thread),
        object: Local::new(object),
        class: Local::new(class),
        size,
    };
    // For some objects, the JVM sends this event after the method that made them has thrown an exception. This
    // exception of the program must stay pending. SAFETY: the JVM passes this thread's environment.
    unsafe {
        on_event(env, |agent, jni| {
            jni.without_exception(|| events::object_alloc(agent, jni, event));
        })
    }
}

unsafe extern "system" fn garbage_collection_start(_jvmti: *mut c_void) {
    on_event_without_jni(events::garbage_collection_start);
}

unsafe extern "system" fn garbage_collection_finish(_jvmti: *mut c_void) {
    on_event_without_jni(events::garbage_collection_finish);
}

#[allow(clippy::too_many_arguments)]
unsafe extern "system" fn class_file_load_hook(
    _jvmti: *mut c_void,
    env: *mut c_void,
    class_being_redefined: Object,
    loader: Object,
    name: *const c_char,
    _protection_domain: Object,
    len: Int,
    data: *const c_uchar,
    new_len: *mut Int,
    new_data: *mut *mut c_uchar,
) {
    let body = |agent, jni: Jni<'_>| {
        let Ok(len) = usize::try_from(len) else {
            return;
        };
        // SAFETY: the JVM promises `len` readable bytes for this call, and a
        // name that is null or ends in a zero byte.
        let (bytes, name) = unsafe {
            let name = (!name.is_null()).then(|| CStr::from_ptr(name).to_bytes());
            (std::slice::from_raw_parts(data, len), name)
        };
        let name = name.unwrap_or_default();
        let (redefined, loader) = (Local::new(class_being_redefined), Local::new(loader));
        if let Some(buffer) =
            class_load::class_file_load(agent, jni, redefined, loader, name, bytes)
        {
            let (start, len) = buffer.into_raw();
            // SAFETY: the pointers are the JVM's. They are set last, after everything that can fail.
            unsafe {
                *new_len = len;
                *new_data = start;
            }
        }
    };
    // SAFETY: the JVM passes this thread's environment.
    unsafe { on_event(env, body) }
    pace::hook_ends();
}

/// Callback of `NativeMethodBind`. `env` is null before `VMStart`.
unsafe extern "system" fn native_method_bind(
    _jvmti: *mut c_void,
    _env: *mut c_void,
    _thread: Object,
    method: MethodId,
    address: *mut c_void,
    new_address: *mut *mut c_void,
) {
    on_event_without_jni(|agent| {
        if agent.notes_sleeps()
            && let Some(ours) = sleeps::replacement::<NoteSleeps>(address)
        {
            // SAFETY: the pointer is the JVM's.
            unsafe { *new_address = ours }
        }
        if !agent.options().rewrites() {
            return;
        }
        let hidden = &agent.hidden_classes;
        let function = Function(address);
        if let Some(definer) = hidden.native_bound(MethodKey(method), function) {
            class_definers::keep(definer, function);
            // SAFETY: the pointer is the JVM's.
            unsafe { *new_address = class_definers::replacement(definer).cast_mut() }
            hidden.replacement_bound(agent.jvmti);
        }
    });
}

/// Notes when threads begin to sleep.
struct NoteSleeps;

impl Sleeps for NoteSleeps {
    type Begun = ();

    fn begins(jni: Jni<'_>, timeout: Duration) {
        if let Some(visit) = visit() {
            monitor_events::sleeps(visit.value(), jni, timeout);
        }
    }

    fn ends(_jni: Jni<'_>, (): (), _slept: Duration) {}
}
