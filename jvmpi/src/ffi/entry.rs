//! Loading the layer, and with it an old profiler.

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::Mutex;
use std::sync::{OnceLock, PoisonError};

use loadhook_jvm::jvmti::{self, Jvmti, NO_CALLBACK};
use loadhook_jvm::sys::{self, Callbacks, Int, JNI_ERR, JNI_OK, event, invoke};
use loadhook_jvm::vm;
use thiserror::Error;

use super::callbacks;
use super::interface;
use super::layer::{self, MOST_PROFILERS};
use super::{own, sources, virtual_env, virtual_threads};
use crate::abi::{Interface, VERSION_1, VERSION_1_2};
use crate::options::{Options, OptionsError};

/// The reason why a profiler is not loaded. The JVM does not start then.
#[derive(Debug, Error)]
enum LoadError {
    #[error(transparent)]
    Options(#[from] OptionsError),
    #[error("this JVM has no JVM TI version 11; use JDK 11 or later")]
    NoJvmti,
    #[error(
        "the events that the layer needs cannot be enabled ({0}); run without other agents, and use a HotSpot JVM for \
         virtual=threads"
    )]
    NoEvents(jvmti::Error),
    #[error(
        "virtual=threads needs a processor of the kind x86-64; leave it out, and virtual threads appear as their carriers"
    )]
    NoVirtualThreads,
    #[error(
        "another profiler in this JVM sees virtual threads differently; give virtual=threads to all profilers or to none"
    )]
    OtherVirtualThreads,
    #[error("a JVM takes at most {most} profilers of JVMPI; load fewer", most = MOST_PROFILERS)]
    TooMany,
    #[error("cannot load the profiler: {0}; give lib= the path of a library of this machine")]
    NoLibrary(String),
    #[error(
        "{0} has no function JVM_OnLoad, so it is no profiler for JVMPI; load it with -agentpath or -Xrun instead"
    )]
    NoEntry(String),
    #[error(
        "{0} refused to start: JVM_OnLoad returned {1}; its own message, if there is one, is above"
    )]
    Refused(String, Int),
}

/// `JVM_OnLoad` and `JVM_OnUnload` of a profiler.
type OnLoad = unsafe extern "C" fn(*mut sys::Table, *mut c_char, *mut c_void) -> Int;
type OnUnload = unsafe extern "C" fn(*mut sys::Table);

/// The `JavaVM` of a profiler, with the profiler's interface behind the functions, so that `GetEnv` finds the
/// interface.
#[repr(C)]
struct ProfilerVm {
    table: sys::Table,
    functions: [*const c_void; INVOKE_FUNCTIONS],
    interface: *mut Interface,
}

/// Number of places in `JNIInvokeInterface_`.
const INVOKE_FUNCTIONS: usize = 8;

/// The functions to call when the JVM ends: each profiler's `JVM_OnUnload`, with the profiler's `JavaVM`, as addresses.
static UNLOADING: Mutex<Vec<(OnUnload, usize)>> = Mutex::new(Vec::new());

/// True if profilers see virtual threads as threads. The choice of the first profiler holds for all, since one record
/// of a thread serves all profilers.
static VIRTUAL_THREADS: OnceLock<bool> = OnceLock::new();

/// Entry point for `-agentpath`. Each profiler has an `-agentpath` of its own.
///
/// # Safety
/// Called by the JVM, as the JVM TI specification says.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut sys::Table,
    options: *mut c_char,
    _reserved: *mut c_void,
) -> Int {
    let loaded = layer::guarded(None, || {
        let text = if options.is_null() {
            Cow::Borrowed("")
        } else {
            // SAFETY: the JVM passes a string that ends in a zero byte.
            unsafe { CStr::from_ptr(options) }.to_string_lossy()
        };
        // SAFETY: `vm` is the running JVM's.
        Some(unsafe { load(vm, &text) })
    });
    match loaded {
        Some(Ok(())) => JNI_OK,
        Some(Err(error)) => {
            own::say(&error.to_string());
            JNI_ERR
        }
        None => JNI_ERR,
    }
}

/// Called when the JVM ends.
///
/// # Safety
/// Called by the JVM, as the JVM TI specification says.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnUnload(_vm: *mut sys::Table) {
    let unloading = {
        let mut unloading = UNLOADING.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *unloading)
    };
    for (function, vm) in unloading {
        // SAFETY: the library stays loaded, and its `JavaVM` is never freed.
        layer::guarded((), || unsafe {
            function(std::ptr::with_exposed_provenance_mut(vm))
        });
    }
}

/// Loads a profiler.
///
/// # Safety
/// `vm` must be the running JVM's.
unsafe fn load(vm: *mut sys::Table, text: &str) -> Result<(), LoadError> {
    let options = Options::parse(text)?;
    if options.virtual_threads && !virtual_env::AVAILABLE {
        return Err(LoadError::NoVirtualThreads);
    }
    if *VIRTUAL_THREADS.get_or_init(|| options.virtual_threads) != options.virtual_threads {
        return Err(LoadError::OtherVirtualThreads);
    }
    let handle = open(&options.library)?;
    let Some(on_load) = symbol(handle, c"JVM_OnLoad") else {
        return Err(LoadError::NoEntry(options.library));
    };
    if layer::jvmti().is_none() {
        // SAFETY: the caller's promise.
        let jvmti = unsafe { vm::environment(vm) }.ok_or(LoadError::NoJvmti)?;
        layer::set_jvm(vm, jvmti);
        connect(jvmti, options.virtual_threads).map_err(LoadError::NoEvents)?;
    }
    let mut interface: *mut Interface = null_mut();
    let number = layer::add(|number| {
        interface = Box::into_raw(Box::new(interface_of(number)));
        interface
    })
    .ok_or(LoadError::TooMany)?;
    let profiler_vm = profiler_vm(interface);
    let own = CString::new(options.options).unwrap_or_default().into_raw();
    // SAFETY: the function has this type in a library for JVMPI. The options are never freed, because profilers keep
    // pointers into them.
    let answer = unsafe {
        let on_load: OnLoad = std::mem::transmute(on_load);
        on_load(profiler_vm, own, null_mut())
    };
    if answer != JNI_OK {
        layer::remove(number);
        return Err(LoadError::Refused(options.library, answer));
    }
    if let Some(on_unload) = symbol(handle, c"JVM_OnUnload") {
        // SAFETY: the function has this type in a library for JVMPI.
        let on_unload: OnUnload = unsafe { std::mem::transmute(on_unload) };
        let mut unloading = UNLOADING.lock().unwrap_or_else(PoisonError::into_inner);
        unloading.push((on_unload, profiler_vm.expose_provenance()));
    }
    Ok(())
}

/// Makes the interface of a profiler by its number.
fn interface_of(number: usize) -> Interface {
    match number {
        0 => interface::of::<0>(),
        1 => interface::of::<1>(),
        2 => interface::of::<2>(),
        _ => interface::of::<3>(),
    }
}

/// Asks for capabilities, sets the callbacks, and enables the events that the layer always needs.
fn connect(jvmti: Jvmti, virtual_threads: bool) -> jvmti::Result<()> {
    sources::add_capabilities(jvmti);
    let mut functions = [NO_CALLBACK; event::COUNT];
    for (event, function) in callbacks::all() {
        if let Some(place) = functions.get_mut((event - event::MIN) as usize) {
            *place = function;
        }
    }
    jvmti.set_callbacks(&Callbacks { functions })?;
    for event in [
        event::VM_START,
        event::VM_INIT,
        event::VM_DEATH,
        event::THREAD_START,
        event::THREAD_END,
    ] {
        jvmti.notify(event, true)?;
    }
    if virtual_threads {
        let mount = callbacks::virtual_thread_mount as *const c_void;
        let unmount = callbacks::virtual_thread_unmount as *const c_void;
        virtual_threads::enable(jvmti, mount, unmount)?;
    }
    Ok(())
}

/// Opens a library.
fn open(path: &str) -> Result<*mut c_void, LoadError> {
    let name = CString::new(path).unwrap_or_default();
    // SAFETY: the name ends in a zero byte. The library's initialisers are the profiler's business.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
    if handle.is_null() {
        // SAFETY: `dlerror` returns null or a string that ends in a zero byte.
        let reason = unsafe {
            let reason = libc::dlerror();
            (!reason.is_null()).then(|| CStr::from_ptr(reason).to_string_lossy().into_owned())
        };
        return Err(LoadError::NoLibrary(
            reason.unwrap_or_else(|| path.to_owned()),
        ));
    }
    Ok(handle)
}

fn symbol(handle: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the handle is that of an open library.
    let symbol = unsafe { libc::dlsym(handle, name.as_ptr()) };
    (!symbol.is_null()).then_some(symbol)
}

/// Makes the `JavaVM` that a profiler gets. It is never freed.
fn profiler_vm(interface: *mut Interface) -> *mut sys::Table {
    let functions = [
        null(),
        null(),
        null(),
        destroy_java_vm as *const c_void,
        attach_current_thread as *const c_void,
        detach_current_thread as *const c_void,
        get_env as *const c_void,
        attach_current_thread_as_daemon as *const c_void,
    ];
    let made = Box::into_raw(Box::new(ProfilerVm {
        table: sys::Table { functions: null() },
        functions,
        interface,
    }));
    // SAFETY: the box was leaked just now.
    unsafe { (*made).table.functions = (&raw const (*made).functions).cast() };
    made.cast()
}

/// `GetEnv` of a profiler's `JavaVM`.
unsafe extern "C" fn get_env(vm: *mut sys::Table, env: *mut *mut c_void, version: Int) -> Int {
    type GetEnv = unsafe extern "system" fn(*mut sys::Table, *mut *mut c_void, Int) -> Int;
    // SAFETY: `vm` is one that `profiler_vm` made; the place is that of the real function.
    unsafe {
        if (VERSION_1..=VERSION_1_2).contains(&version) {
            *env = (*vm.cast::<ProfilerVm>()).interface.cast();
            return JNI_OK;
        }
        let real = layer::real_vm();
        let get_env: GetEnv = std::mem::transmute_copy(&*(*real).functions.add(invoke::GET_ENV));
        let answer = get_env(real, env, version);
        if answer == JNI_OK && (1..VERSION_1).contains(&version) {
            // `version` is one of JNI.
            *env = layer::shown(*env);
        }
        answer
    }
}

/// Returns the real `JavaVM` and the function at a place in its table.
fn real_function(place: usize) -> (*mut sys::Table, *const c_void) {
    let real = layer::real_vm();
    // SAFETY: the table of the running JVM has these places.
    (real, unsafe { *(*real).functions.add(place) })
}

unsafe extern "C" fn destroy_java_vm(_vm: *mut sys::Table) -> Int {
    let (vm, function) = real_function(3);
    // SAFETY: the function has this type.
    unsafe {
        let function: unsafe extern "C" fn(*mut sys::Table) -> Int = std::mem::transmute(function);
        function(vm)
    }
}

/// `AttachCurrentThread` and `AttachCurrentThreadAsDaemon`.
type Attach = unsafe extern "C" fn(*mut sys::Table, *mut *mut c_void, *mut c_void) -> Int;

/// Calls `AttachCurrentThread` or `AttachCurrentThreadAsDaemon`, by its place in the table.
///
/// # Safety
/// The arguments must be those of the function.
unsafe fn attach(place: usize, env: *mut *mut c_void, arguments: *mut c_void) -> Int {
    let (vm, function) = real_function(place);
    // SAFETY: the function has this type; the rest is the caller's promise.
    unsafe {
        let function: Attach = std::mem::transmute(function);
        let answer = function(vm, env, arguments);
        if answer == JNI_OK {
            *env = layer::shown(*env);
        }
        answer
    }
}

unsafe extern "C" fn attach_current_thread(
    _vm: *mut sys::Table,
    env: *mut *mut c_void,
    arguments: *mut c_void,
) -> Int {
    // SAFETY: the arguments are the profiler's.
    unsafe { attach(4, env, arguments) }
}

unsafe extern "C" fn detach_current_thread(_vm: *mut sys::Table) -> Int {
    let (vm, function) = real_function(5);
    // SAFETY: the function has this type.
    unsafe {
        let function: unsafe extern "C" fn(*mut sys::Table) -> Int = std::mem::transmute(function);
        function(vm)
    }
}

unsafe extern "C" fn attach_current_thread_as_daemon(
    _vm: *mut sys::Table,
    env: *mut *mut c_void,
    arguments: *mut c_void,
) -> Int {
    // SAFETY: the arguments are the profiler's.
    unsafe { attach(7, env, arguments) }
}
