//! The functions of JVMPI. Each profiler has functions of its own, because their arguments do not tell which profiler
//! calls.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

use loadhook_jvm::jni::Jni;
use loadhook_jvm::jvmti::MethodKey;
use loadhook_jvm::sys::{JNI_ERR, JNI_OK};

use super::layer::guarded;
use super::{
    collections, definitions, events, layer, raw_monitors, requests, stacks, tags, thread_control,
    threads,
};
use crate::abi::{
    self, CallTrace, EnvId, FAIL, Int, Interface, Long, MethodId, ObjectId, StartFunction,
};

/// Maximum number of frames that are read at once.
const MOST_FRAMES: usize = 1 << 16;

/// Runs `body` in a JNI frame of its own, so that local references of the layer do not pile up in a native thread.
/// Returns `None` in a thread that is not attached.
fn framed<T>(body: impl for<'f> FnOnce(Jni<'f>) -> T) -> Option<T> {
    layer::current_jni().and_then(|jni| jni.framed(body))
}

/// Makes the interface of profiler `N`.
pub(super) fn of<const N: usize>() -> Interface {
    Interface {
        version: abi::VERSION_1_2,
        notify_event: None,
        enable_event: enable_event::<N>,
        disable_event: disable_event::<N>,
        request_event: request_event::<N>,
        get_call_trace,
        profiler_exit,
        raw_monitor_create,
        raw_monitor_enter,
        raw_monitor_exit,
        raw_monitor_wait,
        raw_monitor_notify_all,
        raw_monitor_destroy,
        get_current_thread_cpu_time,
        suspend_thread,
        resume_thread,
        get_thread_status,
        thread_has_run,
        create_system_thread,
        set_thread_local_storage: set_thread_local_storage::<N>,
        get_thread_local_storage: get_thread_local_storage::<N>,
        disable_gc,
        enable_gc,
        run_gc,
        get_thread_object,
        get_method_class,
        id_to_object,
        object_to_id,
        suspend_thread_list,
        resume_thread_list,
    }
}

unsafe extern "C" fn enable_event<const N: usize>(event_type: Int, _: *mut c_void) -> Int {
    guarded(FAIL, || events::enable(N, event_type))
}

unsafe extern "C" fn disable_event<const N: usize>(event_type: Int, _: *mut c_void) -> Int {
    guarded(FAIL, || events::disable(N, event_type))
}

unsafe extern "C" fn request_event<const N: usize>(event_type: Int, argument: *mut c_void) -> Int {
    guarded(FAIL, || requests::request(N, event_type, argument))
}

unsafe extern "C" fn get_call_trace(trace: *mut CallTrace, depth: Int) {
    guarded((), || {
        // SAFETY: the profiler passes a trace with room for `depth` frames, or null.
        let Some(trace) = (unsafe { trace.as_mut() }) else {
            return;
        };
        trace.count = 0;
        let depth = usize::try_from(depth).unwrap_or(0).min(MOST_FRAMES);
        if trace.frames.is_null() {
            return;
        }
        for (place, frame) in stacks::frames(trace.env, depth).into_iter().enumerate() {
            // SAFETY: at most `depth` frames were read.
            unsafe { trace.frames.add(place).write(frame) };
            trace.count += 1;
        }
    });
}

unsafe extern "C" fn profiler_exit(code: Int) {
    // SAFETY: this ends the process, as the profiler wants it.
    unsafe { libc::exit(code) }
}

unsafe extern "C" fn raw_monitor_create(name: *const c_char) -> *const c_void {
    guarded(std::ptr::null(), || {
        let name = if name.is_null() {
            c""
        } else {
            // SAFETY: the profiler passes a string that ends in a zero byte.
            unsafe { CStr::from_ptr(name) }
        };
        raw_monitors::create(name.to_owned())
    })
}

fn on_monitor(id: *const c_void, body: impl FnOnce(&raw_monitors::RawMonitor)) {
    guarded((), || {
        if let Some(monitor) = raw_monitors::find(id) {
            body(monitor);
        }
    });
}

unsafe extern "C" fn raw_monitor_enter(id: *const c_void) {
    on_monitor(id, raw_monitors::RawMonitor::enter);
}

unsafe extern "C" fn raw_monitor_exit(id: *const c_void) {
    on_monitor(id, raw_monitors::RawMonitor::exit);
}

unsafe extern "C" fn raw_monitor_wait(id: *const c_void, milliseconds: Long) {
    on_monitor(id, |monitor| monitor.wait(milliseconds));
}

unsafe extern "C" fn raw_monitor_notify_all(id: *const c_void) {
    on_monitor(id, raw_monitors::RawMonitor::notify_all);
}

unsafe extern "C" fn raw_monitor_destroy(id: *const c_void) {
    guarded((), || raw_monitors::destroy(id));
}

unsafe extern "C" fn get_current_thread_cpu_time() -> Long {
    guarded(0, threads::own_cpu_time)
}

unsafe extern "C" fn suspend_thread(env: EnvId) {
    guarded((), || {
        thread_control::suspend(env);
    });
}

unsafe extern "C" fn resume_thread(env: EnvId) {
    guarded((), || {
        thread_control::resume(env);
    });
}

/// Calls a function for each thread of a list, and writes the results.
///
/// # Safety
/// `count` environments and as many results must be at the pointers.
unsafe fn each(count: Int, list: *const EnvId, results: *mut Int, act: fn(EnvId) -> Int) {
    if list.is_null() || results.is_null() {
        return;
    }
    for place in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the caller's promise.
        unsafe {
            results
                .add(place)
                .write(guarded(thread_control::INVALID_THREAD, || {
                    act(*list.add(place))
                }))
        }
    }
}

unsafe extern "C" fn suspend_thread_list(count: Int, list: *const EnvId, results: *mut Int) {
    // SAFETY: the profiler passes lists of this length.
    unsafe { each(count, list, results, thread_control::suspend) }
}

unsafe extern "C" fn resume_thread_list(count: Int, list: *const EnvId, results: *mut Int) {
    // SAFETY: the profiler passes lists of this length.
    unsafe { each(count, list, results, thread_control::resume) }
}

unsafe extern "C" fn get_thread_status(env: EnvId) -> Int {
    guarded(thread_control::RUNNABLE, || thread_control::status(env))
}

unsafe extern "C" fn thread_has_run(env: EnvId) -> u8 {
    guarded(0, || thread_control::has_run(env))
}

unsafe extern "C" fn create_system_thread(
    name: *const c_char,
    priority: Int,
    function: Option<StartFunction>,
) -> Int {
    guarded(JNI_ERR, || {
        let (Some(function), Some(jvmti), true) = (function, layer::jvmti(), layer::is_running())
        else {
            return JNI_ERR;
        };
        let Some(jni) = layer::current_jni().filter(|_| !name.is_null()) else {
            return JNI_ERR;
        };
        if !(1..=10).contains(&priority) {
            return JNI_ERR;
        }
        // SAFETY: the profiler passes a string that ends in a zero byte.
        let name = unsafe { CStr::from_ptr(name) };
        let started = jni.framed(|jni| {
            let thread = collections::new_thread(jni, name)?;
            let body = move |_: Jni<'_>| {
                // SAFETY: the profiler passed the function for this. Its argument is not specified.
                unsafe { function(null_mut()) }
            };
            jvmti
                .run_agent_thread_with(thread, priority, Box::new(body))
                .ok()
        });
        if started.flatten().is_some() {
            JNI_OK
        } else {
            JNI_ERR
        }
    })
}

unsafe extern "C" fn set_thread_local_storage<const N: usize>(env: EnvId, value: *mut c_void) {
    guarded((), || {
        threads::set_storage(env, N, value);
    });
}

unsafe extern "C" fn get_thread_local_storage<const N: usize>(env: EnvId) -> *mut c_void {
    guarded(null_mut(), || threads::storage(env, N))
}

unsafe extern "C" fn disable_gc() {
    guarded((), collections::disable);
}

unsafe extern "C" fn enable_gc() {
    guarded((), collections::enable);
}

unsafe extern "C" fn run_gc() {
    guarded((), || {
        framed(collections::run);
    });
}

unsafe extern "C" fn get_thread_object(env: EnvId) -> ObjectId {
    guarded(0, || {
        let thread = threads::find(env);
        let id = thread.and_then(|it| framed(|jni| definitions::id_of(jni, it.object())));
        id.unwrap_or(0)
    })
}

unsafe extern "C" fn get_method_class(method: MethodId) -> ObjectId {
    guarded(0, || {
        let Some(jvmti) = layer::jvmti().filter(|_| !method.is_null()) else {
            return 0;
        };
        let id = framed(|jni| {
            let class = jvmti.declaring_class(jni, MethodKey(method)).ok()?;
            Some(definitions::class_id(jni, class))
        });
        id.flatten().unwrap_or(0)
    })
}

unsafe extern "C" fn id_to_object(id: ObjectId) -> *mut c_void {
    guarded(null_mut(), || {
        layer::current_jni().map_or(null_mut(), |jni| tags::raw(tags::find(jni, id)))
    })
}

unsafe extern "C" fn object_to_id(object: *mut c_void) -> ObjectId {
    guarded(0, || {
        let id = framed(|jni| definitions::id_of(jni, tags::reference(object)));
        id.unwrap_or(0)
    })
}
