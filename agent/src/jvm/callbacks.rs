//! The agent's doors: what the VM calls, and what the agent calls in the VM.
//!
//! No panic passes these functions.
#![allow(non_snake_case)]

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int, c_uchar, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use loadhook_settings::HeapDumpRequest;

use super::class_definers;
use super::jni::{Jni, Reference};
use super::jvmti::{self, Jvmti, NO_CALLBACK};
use crate::agent::Agent;
use crate::allocations::Event;
use crate::events::{self, Refusal};
use crate::jvm::sys::{
    self, Boolean, Callbacks, Int, JNI_ERR, JNI_OK, JNI_VERSION_10, JVMTI_VERSION_11, Long, Object,
    event, invoke,
};
use crate::snapshot::assembly;
use crate::tracker::ticker;
use crate::{diagnostics, heap_dump};

/// One VM a process, and one agent in it.
pub(super) static AGENT: OnceLock<Agent> = OnceLock::new();

/// The VM loads the agent: `-agentpath`.
///
/// # Safety
/// Called by the VM, as the JVM TI specification says.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut sys::Table,
    options: *const c_char,
    _reserved: *mut c_void,
) -> Int {
    tell_panics();
    let loaded = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the VM passes null or a string that ends in a zero byte.
        let options = unsafe { text(options) };
        // SAFETY: `vm` is the running VM's.
        let Some(jvmti) = (unsafe { environment(vm) }) else {
            return Err(Refusal::Vm("this JVM has no JVM TI version 11".to_owned()));
        };
        if AGENT.get().is_some() {
            diagnostics::line("the agent is loaded twice; the options of the first one apply");
            return Ok(());
        }
        let agent = events::load(jvmti, &options)?;
        let _ = AGENT.set(agent);
        let refused = |error: jvmti::Error| Refusal::Vm(error.to_string());
        jvmti.set_callbacks(&callbacks()).map_err(refused)?;
        for event in [event::VM_START, event::VM_INIT, event::VM_DEATH] {
            jvmti.notify(event, true).map_err(refused)?;
        }
        if let Some(agent) = AGENT.get().filter(|agent| agent.hook.options().rewrites())
            && jvmti.notify(event::NATIVE_METHOD_BIND, true).is_err()
        {
            agent.hidden.give_up();
        }
        Ok(())
    }));
    match loaded {
        Ok(Ok(())) => JNI_OK,
        Ok(Err(Refusal::Options(message))) => {
            diagnostics::line(&message);
            JNI_ERR
        }
        Ok(Err(Refusal::Vm(message))) => {
            diagnostics::line(&format!("{message}; nothing is instrumented"));
            JNI_OK
        }
        // Our fault, not the user's: the program runs without us.
        Err(_) => JNI_OK,
    }
}

/// The VM that runs loads the agent, for a heap dump. It may be there already:
/// nothing of that one is touched.
///
/// # Safety
/// Called by the VM, as the JVM TI specification says.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnAttach(
    vm: *mut sys::Table,
    options: *const c_char,
    _reserved: *mut c_void,
) -> Int {
    tell_panics();
    let dumped = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the VM passes null or a string that ends in a zero byte.
        let options = unsafe { text(options) };
        let request = options.parse::<HeapDumpRequest>();
        let request = request.map_err(|error| error.to_string());
        let outcome = request.and_then(|request| {
            // SAFETY: `vm` is the running VM's, and this thread is its.
            let jni = unsafe { thread_environment(vm) };
            let jni = jni.ok_or("this thread has no JNI environment")?;
            // SAFETY: as above.
            let environment = || unsafe { environment(vm) };
            Ok(heap_dump::run(&request, jni, environment))
        });
        outcome.unwrap_or_else(|message| {
            diagnostics::line(&message);
            false
        })
    }));
    match dumped {
        Ok(true) => JNI_OK,
        // Told by the hook, if it was a panic.
        Ok(false) | Err(_) => JNI_ERR,
    }
}

/// Has panics told. Ours is a copy of the standard library of its own, and with
/// it the hook.
fn tell_panics() {
    std::panic::set_hook(Box::new(|info| {
        diagnostics::once(&format!("internal error: {info}"))
    }));
}

/// The agent's options.
///
/// # Safety
/// `options` must be null or end in a zero byte, and live as long as `'o`.
unsafe fn text<'o>(options: *const c_char) -> Cow<'o, str> {
    match options.is_null() {
        true => "".into(),
        // SAFETY: the caller's promise.
        false => unsafe { CStr::from_ptr(options) }.to_string_lossy(),
    }
}

/// The JNI environment of this thread.
///
/// # Safety
/// `vm` must be the running VM's, and this thread one of its for `'e`.
unsafe fn thread_environment<'e>(vm: *mut sys::Table) -> Option<Jni<'e>> {
    // SAFETY: the caller's promise.
    unsafe { interface(vm, JNI_VERSION_10).map(|env| Jni::new(env)) }
}

/// A new JVM TI environment.
///
/// # Safety
/// `vm` must be the running VM's.
unsafe fn environment(vm: *mut sys::Table) -> Option<Jvmti> {
    // SAFETY: the caller's promise.
    unsafe { interface(vm, JVMTI_VERSION_11).map(|env| Jvmti::new(env)) }
}

/// An interface of the VM's, by its version.
///
/// # Safety
/// `vm` must be the running VM's.
unsafe fn interface(vm: *mut sys::Table, version: Int) -> Option<*mut c_void> {
    type GetEnv = unsafe extern "system" fn(*mut sys::Table, *mut *mut c_void, Int) -> Int;
    let mut env = null_mut();
    // SAFETY: the place is GetEnv's in every invocation table.
    unsafe {
        let get_env: GetEnv = std::mem::transmute_copy(&*(*vm).functions.add(invoke::GET_ENV));
        (get_env(vm, &mut env, version) == JNI_OK && !env.is_null()).then_some(env)
    }
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
        class_definers::native_method_bind as *const c_void,
    );
    set(event::VM_OBJECT_ALLOC, object_alloc as *const c_void);
    set(event::SAMPLED_OBJECT_ALLOC, object_alloc as *const c_void);
    set(
        event::GARBAGE_COLLECTION_FINISH,
        garbage_collection_finish as *const c_void,
    );
    Callbacks { functions }
}

/// Runs `body` with the agent and the thread's JNI environment; the VM sees
/// no panic.
///
/// # Safety
/// `env` must be the `JNIEnv` of this thread.
unsafe fn on_event(env: *mut c_void, body: impl FnOnce(&'static Agent, Jni<'_>)) {
    let Some(agent) = AGENT.get() else {
        return;
    };
    // A panic was told by the hook.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the caller's promise.
        body(agent, unsafe { Jni::new(env) });
    }));
}

unsafe extern "system" fn vm_start(_jvmti: *mut c_void, env: *mut c_void) {
    // SAFETY: the VM passes this thread's environment.
    unsafe { on_event(env, events::vm_start) }
}

unsafe extern "system" fn vm_init(_jvmti: *mut c_void, env: *mut c_void, _thread: Object) {
    // SAFETY: the VM passes this thread's environment.
    unsafe { on_event(env, events::vm_init) }
}

unsafe extern "system" fn vm_death(_jvmti: *mut c_void, env: *mut c_void) {
    // SAFETY: the VM passes this thread's environment.
    unsafe { on_event(env, events::vm_death) }
}

/// What a thread of the agent's does.
pub(crate) type AgentThread = fn(&'static Agent, Jni<'_>);

/// Where a thread of the agent's begins; `body` is an [`AgentThread`].
pub(super) unsafe extern "system" fn agent_thread(
    _jvmti: *mut c_void,
    env: *mut c_void,
    body: *mut c_void,
) {
    // SAFETY: `run_agent_thread` passed a function of this type, and the VM
    // passes this thread's environment.
    unsafe {
        let body = std::mem::transmute::<*mut c_void, AgentThread>(body);
        on_event(env, body);
    }
}

unsafe extern "system" fn thread_end(_jvmti: *mut c_void, env: *mut c_void, thread: Object) {
    // SAFETY: the VM passes this thread's environment.
    unsafe {
        on_event(env, |agent, jni| {
            events::platform_thread_end(agent, jni, Reference(thread))
        })
    }
}

unsafe extern "system" fn virtual_thread_end(
    _jvmti: *mut c_void,
    env: *mut c_void,
    thread: Object,
) {
    // SAFETY: the VM passes this thread's environment.
    unsafe {
        on_event(env, |agent, jni| {
            agent.virtual_threads.store(true, Ordering::Relaxed);
            events::thread_end(agent, jni, Reference(thread));
        })
    }
}

/// `SampledObjectAlloc` and `VMObjectAlloc`, of which one is enabled.
unsafe extern "system" fn object_alloc(
    _jvmti: *mut c_void,
    env: *mut c_void,
    thread: Object,
    object: Object,
    class: Object,
    size: Long,
) {
    let event = Event {
        thread: Reference(thread),
        object: Reference(object),
        class: Reference(class),
        size,
    };
    // SAFETY: the VM passes this thread's environment.
    unsafe { on_event(env, |agent, jni| events::object_alloc(agent, jni, event)) }
}

unsafe extern "system" fn garbage_collection_finish(_jvmti: *mut c_void) {
    on_event_without_jni(events::garbage_collection_finish);
}

/// Runs `body` in an event that forbids JNI.
pub(super) fn on_event_without_jni(body: impl FnOnce(&'static Agent)) {
    if let Some(agent) = AGENT.get() {
        // A panic was told by the hook.
        let _ = catch_unwind(AssertUnwindSafe(|| body(agent)));
    }
}

#[allow(clippy::too_many_arguments)]
unsafe extern "system" fn class_file_load_hook(
    _jvmti: *mut c_void,
    env: *mut c_void,
    _class_being_redefined: Object,
    loader: Object,
    name: *const c_char,
    _protection_domain: Object,
    len: Int,
    data: *const c_uchar,
    new_len: *mut Int,
    new_data: *mut *const c_uchar,
) {
    let body = |agent: &'static Agent, jni: Jni<'_>| {
        let Ok(len) = usize::try_from(len) else {
            return;
        };
        // SAFETY: the VM promises `len` readable bytes for this call, and a
        // name that is null or ends in a zero byte.
        let (bytes, name) = unsafe {
            let name = (!name.is_null()).then(|| CStr::from_ptr(name).to_bytes());
            (std::slice::from_raw_parts(data, len), name)
        };
        let name = name.unwrap_or_default();
        if let Some(buffer) = events::class_file_load(agent, jni, Reference(loader), name, bytes) {
            let (start, len) = buffer.into_raw();
            // SAFETY: the VM's own places; set last, after all that can fail.
            unsafe {
                *new_len = len;
                *new_data = start;
            }
        }
    };
    // SAFETY: the VM passes this thread's environment.
    unsafe { on_event(env, body) }
}

/// The tracker's clock of processor time. The VM finds natives of boot classes
/// in agents' libraries by this name; registering one makes JDK 17 and later
/// print a warning.
///
/// # Safety
/// Called by the VM for `java.lang.$Loadhook.threadCpuNanos()`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024Loadhook_threadCpuNanos(
    _env: *mut c_void,
    _class: Object,
) -> Long {
    AGENT
        .get()
        .map_or(-1, |agent| agent.jvmti.current_thread_cpu_time())
}

/// A thread's processor time, at its beginning, its end and at snapshots.
///
/// # Safety
/// Called by the VM for `java.lang.$Loadhook.cpuNanos(Thread)`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024Loadhook_cpuNanos(
    _env: *mut c_void,
    _class: Object,
    thread: Object,
) -> Long {
    AGENT
        .get()
        .map_or(-1, |agent| agent.jvmti.thread_cpu_time(Reference(thread)))
}

/// Where the tracker reads ticks; it asks once.
///
/// # Safety
/// Called by the VM for `java.lang.$LoadhookTicker`'s initialisation.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024Loadhook_tickAddress(
    _env: *mut c_void,
    _class: Object,
    now: Long,
) -> Long {
    let start = |agent: &Agent| ticker::start(agent.hook.options(), now);
    catch_unwind(AssertUnwindSafe(|| AGENT.get().map_or(0, start))).unwrap_or(0)
}

/// Where a thread waits for the tracker's lock: a moment, the longer the more
/// such moments there were before.
///
/// # Safety
/// Called by the VM for `java.lang.$Loadhook.nap(int)`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024Loadhook_nap(
    _env: *mut c_void,
    _class: Object,
    before: Int,
) {
    match before {
        ..100 => thread::yield_now(),
        _ => thread::sleep(Duration::from_millis(1)),
    }
}

/// Whether the agent's profile goes to a file.
///
/// # Safety
/// Called by the VM for `java.lang.$Loadhook.agentClaims(String)`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024Loadhook_agentClaims(
    env: *mut c_void,
    _class: Object,
    file: Object,
) -> Boolean {
    let mut claims = false;
    // SAFETY: the VM passes this thread's environment and a string or null.
    unsafe {
        on_file(env, file, |agent, file| {
            claims = assembly::claims(agent, file)
        })
    }
    Boolean::from(claims)
}

/// Tells of a profile that a rewritten archive's tracker wrote.
///
/// # Safety
/// Called by the VM for `java.lang.$Loadhook.agentNotes(String)`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024Loadhook_agentNotes(
    env: *mut c_void,
    _class: Object,
    file: Object,
) {
    // SAFETY: the VM passes this thread's environment and a string or null.
    unsafe { on_file(env, file, assembly::note_of_other) }
}

/// Runs `body` with the file that Java code names; not for null.
///
/// # Safety
/// `env` must be the `JNIEnv` of this thread, and `file` a string of its.
unsafe fn on_file(env: *mut c_void, file: Object, body: impl FnOnce(&'static Agent, &Path)) {
    // SAFETY: the caller's promise.
    unsafe {
        on_event(env, |agent, jni| {
            if !file.is_null()
                && let Ok(name) = jni.text(Reference(file))
            {
                body(agent, Path::new(&name));
            }
        })
    }
}

/// Where the native that defines hidden classes is bound again: a method of the
/// boot loader asks for it.
///
/// # Safety
/// Called by the VM for `java.lang.$Loadhook.bindDefiner()`.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang__00024Loadhook_bindDefiner(
    env: *mut c_void,
    _class: Object,
) {
    // SAFETY: the VM passes this thread's environment.
    unsafe { on_event(env, |agent, jni| agent.hidden.bind(jni)) }
}
