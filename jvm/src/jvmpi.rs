//! The binary interface of JVMPI, as `jvmpi/include/jvmpi.h` declares it in C. Both sides use it: the layer that offers
//! JVMPI to old profilers, and the agent when it is itself such a profiler.

use std::ffi::{c_char, c_int, c_void};

/// `jobjectID`: here the tag of an object.
pub type ObjectId = usize;
/// `JNIEnv *`, the id of a thread.
pub type EnvId = *mut c_void;
/// `jmethodID`.
pub type MethodId = *mut c_void;
/// `jint`.
pub type Int = i32;
/// `jlong`.
pub type Long = i64;

/// `JVMPI_VERSION_1`, the first of three versions.
pub const VERSION_1: Int = 0x1000_0001;
/// `JVMPI_VERSION_1_2`, the last version.
pub const VERSION_1_2: Int = 0x1000_0003;
/// `JVMPI_SUCCESS`.
pub const SUCCESS: Int = 0;
/// `JVMPI_NOT_AVAILABLE`.
pub const NOT_AVAILABLE: Int = 1;
/// `JVMPI_FAIL`.
pub const FAIL: Int = -1;
/// `JVMPI_REQUESTED_EVENT`, or-ed to the type of a requested event.
pub const REQUESTED: Int = 0x1000_0000;

/// Types of events.
pub mod event {
    #![allow(missing_docs)]
    use super::Int;

    pub const METHOD_ENTRY: Int = 1;
    pub const METHOD_ENTRY2: Int = 2;
    pub const METHOD_EXIT: Int = 3;
    pub const OBJECT_ALLOC: Int = 4;
    pub const OBJECT_FREE: Int = 5;
    pub const OBJECT_MOVE: Int = 6;
    pub const COMPILED_METHOD_LOAD: Int = 7;
    pub const COMPILED_METHOD_UNLOAD: Int = 8;
    pub const INSTRUCTION_START: Int = 9;
    pub const THREAD_START: Int = 33;
    pub const THREAD_END: Int = 34;
    pub const CLASS_LOAD_HOOK: Int = 35;
    pub const HEAP_DUMP: Int = 37;
    pub const JNI_GLOBALREF_ALLOC: Int = 38;
    pub const JNI_GLOBALREF_FREE: Int = 39;
    pub const JNI_WEAK_GLOBALREF_ALLOC: Int = 40;
    pub const JNI_WEAK_GLOBALREF_FREE: Int = 41;
    pub const CLASS_LOAD: Int = 42;
    pub const CLASS_UNLOAD: Int = 43;
    pub const DATA_DUMP_REQUEST: Int = 44;
    pub const DATA_RESET_REQUEST: Int = 45;
    pub const JVM_INIT_DONE: Int = 46;
    pub const JVM_SHUT_DOWN: Int = 47;
    pub const ARENA_NEW: Int = 48;
    pub const ARENA_DELETE: Int = 49;
    pub const OBJECT_DUMP: Int = 50;
    pub const RAW_MONITOR_CONTENDED_ENTER: Int = 51;
    pub const RAW_MONITOR_CONTENDED_ENTERED: Int = 52;
    pub const RAW_MONITOR_CONTENDED_EXIT: Int = 53;
    pub const MONITOR_CONTENDED_ENTER: Int = 54;
    pub const MONITOR_CONTENDED_ENTERED: Int = 55;
    pub const MONITOR_CONTENDED_EXIT: Int = 56;
    pub const MONITOR_WAIT: Int = 57;
    pub const MONITOR_WAITED: Int = 58;
    pub const MONITOR_DUMP: Int = 59;
    pub const GC_START: Int = 60;
    pub const GC_FINISH: Int = 61;
    /// `JVMPI_MAX_EVENT_TYPE_VAL` + 1: the length of a table with a place for each type.
    pub const COUNT: usize = 62;
}

/// Types of objects, of array elements and of fields.
pub mod kind {
    #![allow(missing_docs)]
    use super::Int;

    pub const NORMAL_OBJECT: Int = 0;
    pub const CLASS: Int = 2;

    /// Returns the type with which a descriptor begins.
    pub fn of(descriptor: u8) -> Int {
        match descriptor {
            b'Z' => 4,
            b'C' => 5,
            b'F' => 6,
            b'D' => 7,
            b'B' => 8,
            b'S' => 9,
            b'I' => 10,
            b'J' => 11,
            _ => CLASS,
        }
    }
}

/// `JVMPI_CallFrame`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CallFrame {
    /// Line of the source; negative if there is none.
    pub line: Int,
    /// The method.
    pub method: MethodId,
}

/// `JVMPI_CallTrace`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CallTrace {
    /// The thread.
    pub env: EnvId,
    /// Number of frames.
    pub count: Int,
    /// The frames, innermost first.
    pub frames: *mut CallFrame,
}

/// `JVMPI_Method`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// Name.
    pub name: *const c_char,
    /// Descriptor.
    pub signature: *const c_char,
    /// First line; −1 if there is none.
    pub start_line: Int,
    /// Last line; −1 if there is none.
    pub end_line: Int,
    /// Id.
    pub id: MethodId,
}

/// `JVMPI_Field`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name.
    pub name: *const c_char,
    /// Descriptor.
    pub signature: *const c_char,
}

/// `JVMPI_Lineno`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Lineno {
    /// Offset in the compiled code.
    pub offset: Int,
    /// Line.
    pub line: Int,
}

/// Data of `CLASS_LOAD`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct ClassLoad {
    pub class_name: *const c_char,
    pub source_name: *const c_char,
    pub num_interfaces: Int,
    pub num_methods: Int,
    pub methods: *const Method,
    pub num_statics: Int,
    pub statics: *const Field,
    pub num_instances: Int,
    pub instances: *const Field,
    pub class: ObjectId,
}

/// Data of `CLASS_LOAD_HOOK`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct ClassLoadHook {
    pub data: *const u8,
    pub len: Int,
    pub new_data: *const u8,
    pub new_len: Int,
    pub malloc: Option<unsafe extern "C" fn(u32) -> *mut c_void>,
}

/// Data of `OBJECT_ALLOC`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct ObjectAlloc {
    pub arena: Int,
    pub class: ObjectId,
    pub is_array: Int,
    pub size: Int,
    pub object: ObjectId,
}

/// Data of `OBJECT_MOVE`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct ObjectMove {
    pub arena: Int,
    pub object: ObjectId,
    pub new_arena: Int,
    pub new_object: ObjectId,
}

/// Data of `ARENA_NEW`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct NewArena {
    pub arena: Int,
    pub name: *const c_char,
}

/// Data of `THREAD_START`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct ThreadStart {
    pub name: *const c_char,
    pub group: *const c_char,
    pub parent: *const c_char,
    pub thread: ObjectId,
    pub env: EnvId,
}

/// Data of `HEAP_DUMP`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct HeapDump {
    pub level: c_int,
    pub begin: *const u8,
    pub end: *const u8,
    pub num_traces: Int,
    pub traces: *const CallTrace,
}

/// Data of `MONITOR_DUMP`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct MonitorDump {
    pub begin: *const u8,
    pub end: *const u8,
    pub num_traces: Int,
    pub traces: *const CallTrace,
    pub status: *const Int,
}

/// Data of `OBJECT_DUMP`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct ObjectDump {
    pub len: Int,
    pub data: *const u8,
}

/// Data of the events of allocated JNI references.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct GlobalRef {
    pub object: ObjectId,
    pub reference: *mut c_void,
}

/// Data of `METHOD_ENTRY2`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct MethodEntry2 {
    pub method: MethodId,
    pub object: ObjectId,
}

/// Data of `COMPILED_METHOD_LOAD`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct CompiledMethodLoad {
    pub method: MethodId,
    pub code: *const c_void,
    pub size: Int,
    pub num_lines: Int,
    pub lines: *const Lineno,
}

/// Data of `INSTRUCTION_START`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Instruction {
    pub method: MethodId,
    pub offset: Int,
    pub info: [Int; 3],
}

/// Data of the events of raw monitors.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct RawMonitor {
    pub name: *const c_char,
    pub id: *const c_void,
}

/// Data of `MONITOR_WAIT` and `MONITOR_WAITED`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct MonitorWait {
    pub object: ObjectId,
    pub timeout: Long,
}

/// Data of `GC_FINISH`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct GcInfo {
    pub used_objects: Long,
    pub used_space: Long,
    pub total_space: Long,
}

/// The data of an event.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub union Data {
    pub none: [u64; 9],
    pub class_load: ClassLoad,
    pub class_load_hook: ClassLoadHook,
    pub object_alloc: ObjectAlloc,
    /// The id of an object, in events that have no other data.
    pub object: ObjectId,
    pub object_move: ObjectMove,
    pub new_arena: NewArena,
    /// The arena in `ARENA_DELETE`.
    pub arena: Int,
    pub thread_start: ThreadStart,
    pub heap_dump: HeapDump,
    pub monitor_dump: MonitorDump,
    pub object_dump: ObjectDump,
    pub global_ref: GlobalRef,
    /// The reference, in the events of freed JNI references.
    pub reference: *mut c_void,
    pub method: MethodId,
    pub method_entry2: MethodEntry2,
    pub compiled_method_load: CompiledMethodLoad,
    pub instruction: Instruction,
    pub raw_monitor: RawMonitor,
    pub monitor_wait: MonitorWait,
    pub gc_info: GcInfo,
}

/// `JVMPI_Event`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Event {
    /// Type of the event.
    pub event_type: Int,
    /// The thread.
    pub env: EnvId,
    /// Data.
    pub data: Data,
}

const _: () = assert!(size_of::<Event>() == 88);
const _: () = assert!(size_of::<Interface>() == 240);

/// `JVMPI_Interface`. The profiler sets `notify_event`.
#[repr(C)]
#[allow(missing_docs)]
pub struct Interface {
    pub version: Int,
    pub notify_event: Option<unsafe extern "C" fn(*mut Event)>,
    pub enable_event: unsafe extern "C" fn(Int, *mut c_void) -> Int,
    pub disable_event: unsafe extern "C" fn(Int, *mut c_void) -> Int,
    pub request_event: unsafe extern "C" fn(Int, *mut c_void) -> Int,
    pub get_call_trace: unsafe extern "C" fn(*mut CallTrace, Int),
    pub profiler_exit: unsafe extern "C" fn(Int),
    pub raw_monitor_create: unsafe extern "C" fn(*const c_char) -> *const c_void,
    pub raw_monitor_enter: unsafe extern "C" fn(*const c_void),
    pub raw_monitor_exit: unsafe extern "C" fn(*const c_void),
    pub raw_monitor_wait: unsafe extern "C" fn(*const c_void, Long),
    pub raw_monitor_notify_all: unsafe extern "C" fn(*const c_void),
    pub raw_monitor_destroy: unsafe extern "C" fn(*const c_void),
    pub get_current_thread_cpu_time: unsafe extern "C" fn() -> Long,
    pub suspend_thread: unsafe extern "C" fn(EnvId),
    pub resume_thread: unsafe extern "C" fn(EnvId),
    pub get_thread_status: unsafe extern "C" fn(EnvId) -> Int,
    pub thread_has_run: unsafe extern "C" fn(EnvId) -> u8,
    pub create_system_thread:
        unsafe extern "C" fn(*const c_char, Int, Option<StartFunction>) -> Int,
    pub set_thread_local_storage: unsafe extern "C" fn(EnvId, *mut c_void),
    pub get_thread_local_storage: unsafe extern "C" fn(EnvId) -> *mut c_void,
    pub disable_gc: unsafe extern "C" fn(),
    pub enable_gc: unsafe extern "C" fn(),
    pub run_gc: unsafe extern "C" fn(),
    pub get_thread_object: unsafe extern "C" fn(EnvId) -> ObjectId,
    pub get_method_class: unsafe extern "C" fn(MethodId) -> ObjectId,
    pub id_to_object: unsafe extern "C" fn(ObjectId) -> *mut c_void,
    pub object_to_id: unsafe extern "C" fn(*mut c_void) -> ObjectId,
    pub suspend_thread_list: unsafe extern "C" fn(Int, *const EnvId, *mut Int),
    pub resume_thread_list: unsafe extern "C" fn(Int, *const EnvId, *mut Int),
}

/// The body of a system thread. Its argument is not specified; null is passed.
pub type StartFunction = unsafe extern "C" fn(*mut c_void);
