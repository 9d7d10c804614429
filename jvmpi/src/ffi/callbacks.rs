//! The callbacks of JVM TI.

use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::ptr::null_mut;

use loadhook_jvm::jvmti::MethodKey;
use loadhook_jvm::reference::Local;
use loadhook_jvm::sleeps;
use loadhook_jvm::sys::{
    AddrLocationMap, Boolean, Int, Long, MethodId, Object, event as jvmti_event,
};

use super::callback_guards::{expect_references, on_event, on_thread, on_waiting_thread};
use super::hook::Arriving;
use super::layer::{self, NO_DATA, guarded};
use super::sleeps::Tell;
use super::thread_record::Waiting;
use super::{
    allocations, arrivals, code_facts, collections, compiled, contention, definitions, hook,
    instructions, method_ids, methods, own, thread_events, threads, virtual_threads,
};
use crate::abi::{Data, MonitorWait, event};

/// Returns all callbacks, each with its event.
pub(super) fn all() -> [(c_int, *const c_void); 22] {
    [
        (jvmti_event::VM_START, vm_start as *const c_void),
        (jvmti_event::VM_INIT, vm_init as *const c_void),
        (jvmti_event::VM_DEATH, vm_death as *const c_void),
        (jvmti_event::THREAD_START, thread_start as *const c_void),
        (jvmti_event::THREAD_END, thread_end as *const c_void),
        (
            jvmti_event::VIRTUAL_THREAD_START,
            virtual_thread_start as *const c_void,
        ),
        (
            jvmti_event::VIRTUAL_THREAD_END,
            virtual_thread_end as *const c_void,
        ),
        (jvmti_event::CLASS_PREPARE, class_prepare as *const c_void),
        (
            jvmti_event::CLASS_FILE_LOAD_HOOK,
            class_file_load_hook as *const c_void,
        ),
        (
            jvmti_event::SAMPLED_OBJECT_ALLOC,
            sampled_object_alloc as *const c_void,
        ),
        (
            jvmti_event::VM_OBJECT_ALLOC,
            vm_object_alloc as *const c_void,
        ),
        (jvmti_event::OBJECT_FREE, object_free as *const c_void),
        (
            jvmti_event::GARBAGE_COLLECTION_FINISH,
            garbage_collection_finish as *const c_void,
        ),
        (
            jvmti_event::COMPILED_METHOD_LOAD,
            compiled_method_load as *const c_void,
        ),
        (
            jvmti_event::COMPILED_METHOD_UNLOAD,
            compiled_method_unload as *const c_void,
        ),
        (jvmti_event::SINGLE_STEP, single_step as *const c_void),
        (
            jvmti_event::MONITOR_CONTENDED_ENTER,
            monitor_contended_enter as *const c_void,
        ),
        (
            jvmti_event::MONITOR_CONTENDED_ENTERED,
            monitor_contended_entered as *const c_void,
        ),
        (jvmti_event::MONITOR_WAIT, monitor_wait as *const c_void),
        (jvmti_event::MONITOR_WAITED, monitor_waited as *const c_void),
        (
            jvmti_event::NATIVE_METHOD_BIND,
            native_method_bind as *const c_void,
        ),
        (
            jvmti_event::DATA_DUMP_REQUEST,
            data_dump_request as *const c_void,
        ),
    ]
}

unsafe extern "system" fn vm_start(_jvmti: *mut c_void, env: *mut c_void) {
    // SAFETY: the JVM passes this thread's environment.
    unsafe { on_event(env, methods::define) }
}

unsafe extern "system" fn vm_init(_jvmti: *mut c_void, env: *mut c_void, thread: Object) {
    // SAFETY: as above.
    unsafe { on_event(env, |jni| arrivals::initialised(jni, Local::new(thread))) }
}

unsafe extern "system" fn vm_death(_jvmti: *mut c_void, env: *mut c_void) {
    // SAFETY: as above.
    unsafe {
        on_event(env, |jni| {
            layer::set_ending();
            collections::deliver(jni);
            let to = layer::wanted(event::JVM_SHUT_DOWN);
            layer::send(to, event::JVM_SHUT_DOWN, layer::id(jni), NO_DATA);
            layer::set_running(false);
        });
    }
}

unsafe extern "system" fn thread_start(_jvmti: *mut c_void, env: *mut c_void, thread: Object) {
    // SAFETY: as above.
    unsafe {
        on_event(env, |jni| {
            if let Some(thread) = threads::started(jni, Local::new(thread))
                && layer::is_running()
            {
                thread_events::announce(jni, &thread);
            }
        });
    }
}

unsafe extern "system" fn thread_end(_jvmti: *mut c_void, env: *mut c_void, _thread: Object) {
    // SAFETY: as above.
    unsafe {
        on_event(env, |jni| {
            methods::thread_ends(env);
            contention::thread_ends(jni);
            thread_events::announce_end(jni);
            threads::ended(jni);
        });
    }
}

unsafe extern "system" fn virtual_thread_start(
    _jvmti: *mut c_void,
    env: *mut c_void,
    thread: Object,
) {
    // SAFETY: as above.
    unsafe { on_event(env, |jni| virtual_threads::mounted(jni, Local::new(thread))) }
}

unsafe extern "system" fn virtual_thread_end(
    _jvmti: *mut c_void,
    env: *mut c_void,
    thread: Object,
) {
    // SAFETY: as above.
    unsafe { on_event(env, |jni| virtual_threads::ended(jni, Local::new(thread))) }
}

/// Callback of HotSpot's event `VirtualThreadMount`.
pub(super) unsafe extern "system" fn virtual_thread_mount(
    _jvmti: *mut c_void,
    env: *mut c_void,
    thread: Object,
) {
    // SAFETY: as above.
    unsafe { on_event(env, |jni| virtual_threads::mounted(jni, Local::new(thread))) }
}

/// Callback of HotSpot's event `VirtualThreadUnmount`.
pub(super) unsafe extern "system" fn virtual_thread_unmount(
    _jvmti: *mut c_void,
    env: *mut c_void,
    _thread: Object,
) {
    // SAFETY: as above.
    unsafe { on_event(env, virtual_threads::unmounted) }
}

unsafe extern "system" fn class_prepare(
    _jvmti: *mut c_void,
    env: *mut c_void,
    _thread: Object,
    class: Object,
) {
    // SAFETY: as above.
    unsafe {
        expect_references(env);
        on_event(env, |jni| {
            method_ids::prepared(jni, Local::new(class));
            if layer::wanted(event::CLASS_LOAD) != 0 {
                definitions::prepared(jni, Local::new(class));
            }
        });
    }
}

#[allow(clippy::too_many_arguments)]
unsafe extern "system" fn class_file_load_hook(
    _jvmti: *mut c_void,
    env: *mut c_void,
    class: Object,
    loader: Object,
    _name: *const c_char,
    _protection_domain: Object,
    len: Int,
    data: *const c_uchar,
    new_len: *mut Int,
    new_data: *mut *mut c_uchar,
) {
    // SAFETY: as above.
    unsafe {
        expect_references(env);
        on_event(env, |jni| {
            let Ok(length) = usize::try_from(len) else {
                return;
            };
            if !class.is_null() {
                code_facts::notice();
            }
            let arriving = Arriving {
                // The JVM promises `len` readable bytes for this call.
                bytes: std::slice::from_raw_parts(data, length),
                class: Local::new(class),
                loader: Local::new(loader),
            };
            if let Some(new) = hook::replaced(jni, &arriving) {
                *new_len = new.len;
                *new_data = new.start.cast_mut();
            }
        });
    }
}

unsafe extern "system" fn sampled_object_alloc(
    _jvmti: *mut c_void,
    env: *mut c_void,
    _thread: Object,
    object: Object,
    class: Object,
    size: Long,
) {
    // SAFETY: as above.
    unsafe {
        expect_references(env);
        on_thread(env, |jni| {
            allocations::sampled(jni, Local::new(object), Local::new(class), size);
        });
    }
}

unsafe extern "system" fn vm_object_alloc(
    _jvmti: *mut c_void,
    env: *mut c_void,
    _thread: Object,
    object: Object,
    class: Object,
    size: Long,
) {
    // SAFETY: as above.
    unsafe {
        expect_references(env);
        on_thread(env, |jni| {
            allocations::by_vm(jni, Local::new(object), Local::new(class), size);
        });
    }
}

unsafe extern "system" fn object_free(_jvmti: *mut c_void, tag: Long) {
    guarded((), || collections::freed(tag as usize));
}

unsafe extern "system" fn garbage_collection_finish(_jvmti: *mut c_void) {
    guarded((), collections::finished);
}

unsafe extern "system" fn compiled_method_load(
    _jvmti: *mut c_void,
    method: MethodId,
    size: Int,
    code: *const c_void,
    count: Int,
    map: *const AddrLocationMap,
    _information: *const c_void,
) {
    guarded((), || {
        let places: Vec<(Int, i64)> = if map.is_null() {
            Vec::new()
        } else {
            // SAFETY: the JVM passes `count` entries.
            let map = unsafe { std::slice::from_raw_parts(map, count.max(0) as usize) };
            let offset = |address: *const c_void| address.addr().wrapping_sub(code.addr()) as Int;
            map.iter()
                .map(|it| (offset(it.start_address), it.location))
                .collect()
        };
        compiled::loaded(MethodKey(method), code, size, &places);
    });
}

unsafe extern "system" fn compiled_method_unload(
    _jvmti: *mut c_void,
    method: MethodId,
    _code: *const c_void,
) {
    guarded((), || compiled::unloaded(MethodKey(method)));
}

unsafe extern "system" fn single_step(
    _jvmti: *mut c_void,
    env: *mut c_void,
    _thread: Object,
    method: MethodId,
    location: Long,
) {
    // SAFETY: as above.
    unsafe {
        on_event(env, |jni| {
            if let Ok(at) = u32::try_from(location) {
                instructions::step(jni, MethodKey(method), at);
            }
        });
    }
}

unsafe extern "system" fn monitor_contended_enter(
    _jvmti: *mut c_void,
    env: *mut c_void,
    thread: Object,
    object: Object,
) {
    // SAFETY: as above.
    unsafe {
        on_waiting_thread(env, thread, |jni| {
            contention::waits(jni, Local::new(object));
        });
    }
}

unsafe extern "system" fn monitor_contended_entered(
    _jvmti: *mut c_void,
    env: *mut c_void,
    thread: Object,
    object: Object,
) {
    // SAFETY: as above.
    unsafe {
        on_waiting_thread(env, thread, |jni| {
            contention::entered(jni, Local::new(object));
        });
    }
}

unsafe extern "system" fn monitor_wait(
    _jvmti: *mut c_void,
    env: *mut c_void,
    thread: Object,
    object: Object,
    timeout: Long,
) {
    // SAFETY: as above.
    unsafe {
        on_waiting_thread(env, thread, |jni| {
            let told = layer::wanted(event::MONITOR_WAIT);
            let began = own::now();
            threads::on_own(env, |own| own.waiting.set(Some(Waiting { told, began })));
            if told != 0 {
                let monitor_wait = MonitorWait {
                    object: definitions::id_of(jni, Local::new(object)),
                    timeout,
                };
                layer::send(
                    told,
                    event::MONITOR_WAIT,
                    layer::id(jni),
                    Data { monitor_wait },
                );
            }
        });
    }
}

unsafe extern "system" fn monitor_waited(
    _jvmti: *mut c_void,
    env: *mut c_void,
    thread: Object,
    object: Object,
    _timed_out: Boolean,
) {
    // SAFETY: as above.
    unsafe {
        on_waiting_thread(env, thread, |jni| {
            let waiting = threads::on_own(env, |own| own.waiting.take());
            let Some(Waiting { told, began }) = waiting.flatten() else {
                return;
            };
            let to = layer::wanted_after(event::MONITOR_WAITED, event::MONITOR_WAIT, told);
            if to == 0 {
                return;
            }
            let monitor_wait = MonitorWait {
                object: definitions::id_of(jni, Local::new(object)),
                timeout: (own::now() - began) / 1_000_000,
            };
            layer::send(
                to,
                event::MONITOR_WAITED,
                layer::id(jni),
                Data { monitor_wait },
            );
        });
    }
}

unsafe extern "system" fn data_dump_request(_jvmti: *mut c_void) {
    guarded((), || {
        let env = layer::current_jni().map_or(null_mut(), layer::id);
        for event in [event::DATA_DUMP_REQUEST, event::DATA_RESET_REQUEST] {
            layer::send(layer::wanted(event), event, env, NO_DATA);
        }
    });
}

/// Callback of `NativeMethodBind`. `env` is null before `VMStart`.
unsafe extern "system" fn native_method_bind(
    _jvmti: *mut c_void,
    _env: *mut c_void,
    _thread: Object,
    _method: MethodId,
    function: *mut c_void,
    new_function: *mut *mut c_void,
) {
    guarded((), || {
        if let Some(ours) = sleeps::replacement::<Tell>(function) {
            // SAFETY: the pointer is the JVM's.
            unsafe { *new_function = ours }
        }
    });
}
