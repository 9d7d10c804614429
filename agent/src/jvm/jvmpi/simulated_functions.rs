//! The functions of JVMPI of the [simulated VM](super::simulated_vm).

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};

use loadhook_jvm::jvmpi::{self as abi, Int, Interface, event};
use loadhook_testkit::collectors::Collector;

use super::super::sys::{self, JNI_OK, invoke};
use super::notify::JVM_OnLoad;
use super::simulated_vm::{self as vm, Class, THREAD_OBJECTS, with};

/// Starts a VM, which loads the agent with these options.
pub(super) fn start(collector: Collector, options: &CStr) {
    vm::set_up(collector, interface());
    let mut functions = [null::<c_void>(); 8];
    functions[invoke::GET_ENV] = get_env as *const c_void;
    let mut vm = sys::Table {
        functions: functions.as_ptr(),
    };
    // SAFETY: the table has the function that the agent calls.
    let answer = unsafe { JVM_OnLoad(&mut vm, options.as_ptr().cast_mut(), null_mut()) };
    assert_eq!(answer, JNI_OK);
}

unsafe extern "system" fn get_env(
    _vm: *mut sys::Table,
    env: *mut *mut c_void,
    version: Int,
) -> Int {
    if version != abi::VERSION_1 {
        return -3;
    }
    // SAFETY: the agent passes a place for the interface.
    unsafe { *env = vm::interface().cast() };
    JNI_OK
}

unsafe extern "C" fn enable_event(event: Int, _: *mut c_void) -> Int {
    with(|vm| vm.enabled[event as usize] = true);
    abi::SUCCESS
}

unsafe extern "C" fn request_event(event: Int, argument: *mut c_void) -> Int {
    let id = argument.addr();
    let (object, class) = with(|vm| {
        let object = vm.object(id);
        let class = vm
            .classes
            .iter()
            .position(|class| Some(class.object) == object);
        (object, class)
    });
    match (event, object, class) {
        (event::OBJECT_ALLOC, Some(object), _) => vm::send_object(object, 0, abi::REQUESTED),
        (event::CLASS_LOAD, _, Some(class)) => vm::send_class(class, abi::REQUESTED),
        (event::THREAD_START, ..) if id >= THREAD_OBJECTS => {
            vm::send_thread(id - THREAD_OBJECTS, abi::REQUESTED);
        }
        _ => return abi::FAIL,
    }
    abi::SUCCESS
}

unsafe extern "C" fn get_call_trace(trace: *mut abi::CallTrace, depth: Int) {
    // SAFETY: the agent passes a trace with room for `depth` frames.
    let trace = unsafe { &mut *trace };
    let stack = with(|vm| {
        let thread = vm.thread(trace.env).expect("the thread is alive");
        let frames = thread.stack.iter().take(depth as usize);
        let frames = frames.map(|(class, method, line)| abi::CallFrame {
            line: *line,
            method: std::ptr::without_provenance_mut(vm.classes[*class].methods[*method].0),
        });
        frames.collect::<Vec<_>>()
    });
    trace.count = stack.len() as Int;
    for (place, frame) in stack.into_iter().enumerate() {
        // SAFETY: at most `depth` frames were taken.
        unsafe { trace.frames.add(place).write(frame) };
    }
}

unsafe extern "C" fn get_thread_object(env: abi::EnvId) -> usize {
    with(|vm| {
        let mut threads = vm.threads.iter();
        let found = threads.position(|it| it.is_alive && it.env == env.addr());
        found.map_or(0, |number| THREAD_OBJECTS + number)
    })
}

unsafe extern "C" fn get_method_class(method: abi::MethodId) -> usize {
    with(|vm| {
        let has_it = |class: &Class| {
            class.is_loaded && class.methods.iter().any(|(id, _)| *id == method.addr())
        };
        let class = vm.classes.iter().position(has_it);
        vm.class_id(class)
    })
}

unsafe extern "C" fn run_gc() {
    vm::collect(3);
}

// The agent does not call the functions below.

unsafe extern "C" fn none() {}
unsafe extern "C" fn of_code(_: Int) {}
unsafe extern "C" fn of_monitor(_: *const c_void) {}
unsafe extern "C" fn of_thread(_: abi::EnvId) {}
unsafe extern "C" fn wait(_: *const c_void, _: abi::Long) {}
unsafe extern "C" fn create(_: *const c_char) -> *const c_void {
    null()
}
unsafe extern "C" fn cpu_time() -> abi::Long {
    0
}
unsafe extern "C" fn status(_: abi::EnvId) -> Int {
    1
}
unsafe extern "C" fn has_run(_: abi::EnvId) -> u8 {
    0
}
unsafe extern "C" fn system_thread(_: *const c_char, _: Int, _: Option<abi::StartFunction>) -> Int {
    -1
}
unsafe extern "C" fn set_storage(_: abi::EnvId, _: *mut c_void) {}
unsafe extern "C" fn storage(_: abi::EnvId) -> *mut c_void {
    null_mut()
}
unsafe extern "C" fn id_to_object(_: usize) -> *mut c_void {
    null_mut()
}
unsafe extern "C" fn object_to_id(_: *mut c_void) -> usize {
    0
}
unsafe extern "C" fn of_threads(_: Int, _: *const abi::EnvId, _: *mut Int) {}

fn interface() -> Interface {
    Interface {
        version: abi::VERSION_1,
        notify_event: None,
        enable_event,
        disable_event: enable_event,
        request_event,
        get_call_trace,
        profiler_exit: of_code,
        raw_monitor_create: create,
        raw_monitor_enter: of_monitor,
        raw_monitor_exit: of_monitor,
        raw_monitor_wait: wait,
        raw_monitor_notify_all: of_monitor,
        raw_monitor_destroy: of_monitor,
        get_current_thread_cpu_time: cpu_time,
        suspend_thread: of_thread,
        resume_thread: of_thread,
        get_thread_status: status,
        thread_has_run: has_run,
        create_system_thread: system_thread,
        set_thread_local_storage: set_storage,
        get_thread_local_storage: storage,
        disable_gc: none,
        enable_gc: none,
        run_gc,
        get_thread_object,
        get_method_class,
        id_to_object,
        object_to_id,
        suspend_thread_list: of_threads,
        resume_thread_list: of_threads,
    }
}
