//! The binary interface of JNI and JVM TI: types, function tables, events.
//!
//! The module has only the types and functions that Loadhook uses. A function is identified by its place in its table.
//! The places are the same in JDK 11 to 25, because later JDKs added functions in reserved places, and events at the
//! end. `tests/layout` compares these numbers with the `jvmti.h` and `jni.h` of JDKs.

use std::ffi::{c_char, c_int, c_uchar, c_void};

/// `jint`.
pub type Int = i32;
/// `jlong`.
pub type Long = i64;
/// `jboolean`: any other byte than 0 is true, so it is no Rust `bool`, which may only be 0 or 1.
pub type Boolean = c_uchar;
/// `jobject` and its subtypes: a local or global reference, or null.
pub type Object = *mut c_void;
/// `jmethodID`.
pub type MethodId = *mut c_void;
/// `jfieldID`.
pub type FieldId = *mut c_void;
/// `jvmtiError`; 0 is success.
pub type JvmtiError = c_int;

/// `JVMTI_VERSION_11`: the version of JDK 11, which every later JDK offers too.
pub const JVMTI_VERSION_11: Int = 0x3000_0000 + 0x000B_0000;
/// `JNI_VERSION_10`: the version of JDK 10, which every later JDK offers too.
pub const JNI_VERSION_10: Int = 0x000A_0000;
/// `JNI_OK`.
pub const JNI_OK: Int = 0;
/// `JNI_ERR`: stops the JVM if `Agent_OnLoad` returns it.
pub const JNI_ERR: Int = -1;

/// `JVMTI_ERROR_NATIVE_METHOD`: a native method has no lines.
pub const JVMTI_ERROR_NATIVE_METHOD: JvmtiError = 104;
/// `JVMTI_ERROR_NOT_AVAILABLE`: the JVM lacks a capability, or another agent has it.
pub const JVMTI_ERROR_NOT_AVAILABLE: JvmtiError = 98;

/// `JVMTI_THREAD_NORM_PRIORITY`.
pub const THREAD_NORM_PRIORITY: Int = 5;

/// A pointer to a function table. `JavaVM`, `JNIEnv` and `jvmtiEnv` are pointers to such a structure.
#[repr(C)]
pub struct Table {
    /// The functions, by their places.
    pub functions: *const *const c_void,
}

/// Places in `JNIInvokeInterface_`.
pub mod invoke {
    #![allow(missing_docs)]
    pub const GET_ENV: usize = 6;
}

/// Places in `JNINativeInterface_`.
pub mod jni {
    #![allow(missing_docs)]
    pub const DEFINE_CLASS: usize = 5;
    pub const FIND_CLASS: usize = 6;
    pub const GET_SUPERCLASS: usize = 10;
    pub const THROW: usize = 13;
    pub const EXCEPTION_OCCURRED: usize = 15;
    pub const EXCEPTION_CLEAR: usize = 17;
    pub const PUSH_LOCAL_FRAME: usize = 19;
    pub const POP_LOCAL_FRAME: usize = 20;
    pub const NEW_GLOBAL_REF: usize = 21;
    pub const DELETE_GLOBAL_REF: usize = 22;
    pub const IS_SAME_OBJECT: usize = 24;
    pub const NEW_LOCAL_REF: usize = 25;
    pub const ENSURE_LOCAL_CAPACITY: usize = 26;
    pub const ALLOC_OBJECT: usize = 27;
    pub const NEW_OBJECT_A: usize = 30;
    pub const GET_OBJECT_CLASS: usize = 31;
    pub const IS_INSTANCE_OF: usize = 32;
    pub const GET_METHOD_ID: usize = 33;
    pub const CALL_LONG_METHOD_A: usize = 54;
    pub const CALL_VOID_METHOD_A: usize = 63;
    pub const GET_FIELD_ID: usize = 94;
    pub const GET_OBJECT_FIELD: usize = 95;
    pub const GET_LONG_FIELD: usize = 101;
    pub const GET_STATIC_METHOD_ID: usize = 113;
    pub const CALL_STATIC_OBJECT_METHOD_A: usize = 116;
    pub const CALL_STATIC_BOOLEAN_METHOD_A: usize = 119;
    pub const CALL_STATIC_INT_METHOD_A: usize = 131;
    pub const CALL_STATIC_LONG_METHOD_A: usize = 134;
    pub const CALL_STATIC_VOID_METHOD_A: usize = 143;
    pub const NEW_STRING_UTF: usize = 167;
    pub const GET_STRING_UTF_CHARS: usize = 169;
    pub const RELEASE_STRING_UTF_CHARS: usize = 170;
    pub const GET_ARRAY_LENGTH: usize = 171;
    pub const NEW_BYTE_ARRAY: usize = 176;
    pub const NEW_LONG_ARRAY: usize = 180;
    pub const GET_BYTE_ARRAY_REGION: usize = 200;
    pub const GET_LONG_ARRAY_REGION: usize = 204;
    pub const SET_BYTE_ARRAY_REGION: usize = 208;
    pub const REGISTER_NATIVES: usize = 215;
    pub const NEW_WEAK_GLOBAL_REF: usize = 226;
    pub const DELETE_WEAK_GLOBAL_REF: usize = 227;
}

/// Places in `jvmtiInterface_1_`.
pub mod jvmti {
    #![allow(missing_docs)]
    pub const SET_EVENT_NOTIFICATION_MODE: usize = 1;
    pub const GET_ALL_THREADS: usize = 3;
    pub const SUSPEND_THREAD: usize = 4;
    pub const RESUME_THREAD: usize = 5;
    pub const GET_THREAD_INFO: usize = 8;
    pub const GET_THREAD_GROUP_INFO: usize = 13;
    pub const GET_OBJECTS_WITH_TAGS: usize = 113;
    pub const SET_JNI_FUNCTION_TABLE: usize = 119;
    pub const GET_JNI_FUNCTION_TABLE: usize = 120;
    pub const IS_METHOD_OBSOLETE: usize = 90;
    pub const GET_THREAD_STATE: usize = 16;
    pub const GET_OWNED_MONITOR_INFO: usize = 9;
    pub const GET_CURRENT_CONTENDED_MONITOR: usize = 10;
    pub const RUN_AGENT_THREAD: usize = 11;
    pub const GET_TOP_THREAD_GROUPS: usize = 12;
    pub const GET_CURRENT_THREAD: usize = 17;
    pub const GET_LOCAL_INT: usize = 21;
    pub const GET_NAMED_MODULE: usize = 39;
    pub const IS_MODIFIABLE_CLASS: usize = 44;
    pub const ALLOCATE: usize = 45;
    pub const DEALLOCATE: usize = 46;
    pub const GET_CLASS_SIGNATURE: usize = 47;
    pub const GET_CLASS_STATUS: usize = 48;
    pub const GET_SOURCE_FILE_NAME: usize = 49;
    pub const GET_CLASS_METHODS: usize = 51;
    pub const GET_CLASS_FIELDS: usize = 52;
    pub const GET_IMPLEMENTED_INTERFACES: usize = 53;
    pub const GET_CLASS_LOADER: usize = 56;
    pub const GET_OBJECT_HASH_CODE: usize = 57;
    pub const GET_OBJECT_MONITOR_USAGE: usize = 58;
    pub const GET_FIELD_NAME: usize = 59;
    pub const GET_FIELD_MODIFIERS: usize = 61;
    pub const GET_METHOD_NAME: usize = 63;
    pub const GET_METHOD_DECLARING_CLASS: usize = 64;
    pub const GET_LINE_NUMBER_TABLE: usize = 69;
    pub const GET_BYTECODES: usize = 74;
    pub const GET_LOADED_CLASSES: usize = 77;
    pub const GET_CLASS_LOADER_CLASSES: usize = 78;
    pub const GET_THREAD_LIST_STACK_TRACES: usize = 100;
    pub const GET_STACK_TRACE: usize = 103;
    pub const GET_TAG: usize = 105;
    pub const SET_TAG: usize = 106;
    pub const FORCE_GARBAGE_COLLECTION: usize = 107;
    pub const FOLLOW_REFERENCES: usize = 114;
    pub const ITERATE_THROUGH_HEAP: usize = 115;
    pub const SET_EVENT_CALLBACKS: usize = 121;
    pub const GENERATE_EVENTS: usize = 122;
    pub const GET_EXTENSION_EVENTS: usize = 124;
    pub const SET_EXTENSION_EVENT_CALLBACK: usize = 125;
    pub const DISPOSE_ENVIRONMENT: usize = 126;
    pub const GET_SYSTEM_PROPERTY: usize = 130;
    pub const GET_CURRENT_THREAD_CPU_TIME: usize = 134;
    pub const GET_THREAD_CPU_TIME: usize = 136;
    pub const ADD_CAPABILITIES: usize = 141;
    pub const GET_CONSTANT_POOL: usize = 145;
    pub const RETRANSFORM_CLASSES: usize = 151;
    pub const GET_OBJECT_SIZE: usize = 153;
    pub const SET_HEAP_SAMPLING_INTERVAL: usize = 155;
    /// Number of places.
    pub const COUNT: usize = 156;
}

/// Bits of `jvmtiCapabilities`.
pub mod capability {
    #![allow(missing_docs)]
    pub const CAN_TAG_OBJECTS: usize = 0;
    pub const CAN_GET_BYTECODES: usize = 3;
    pub const CAN_GET_OWNED_MONITOR_INFO: usize = 5;
    pub const CAN_GET_CURRENT_CONTENDED_MONITOR: usize = 6;
    pub const CAN_GET_MONITOR_INFO: usize = 7;
    pub const CAN_GET_SOURCE_FILE_NAME: usize = 11;
    pub const CAN_GET_LINE_NUMBERS: usize = 12;
    pub const CAN_ACCESS_LOCAL_VARIABLES: usize = 14;
    pub const CAN_GENERATE_SINGLE_STEP_EVENTS: usize = 16;
    pub const CAN_SUSPEND: usize = 20;
    pub const CAN_GET_CURRENT_THREAD_CPU_TIME: usize = 22;
    pub const CAN_GET_THREAD_CPU_TIME: usize = 23;
    pub const CAN_GENERATE_ALL_CLASS_HOOK_EVENTS: usize = 26;
    pub const CAN_GENERATE_COMPILED_METHOD_LOAD_EVENTS: usize = 27;
    pub const CAN_GENERATE_MONITOR_EVENTS: usize = 28;
    pub const CAN_GENERATE_VM_OBJECT_ALLOC_EVENTS: usize = 29;
    pub const CAN_GENERATE_NATIVE_METHOD_BIND_EVENTS: usize = 30;
    pub const CAN_GENERATE_GARBAGE_COLLECTION_EVENTS: usize = 31;
    pub const CAN_GENERATE_OBJECT_FREE_EVENTS: usize = 32;
    pub const CAN_GET_CONSTANT_POOL: usize = 35;
    pub const CAN_RETRANSFORM_CLASSES: usize = 37;
    pub const CAN_RETRANSFORM_ANY_CLASS: usize = 38;
    pub const CAN_GENERATE_SAMPLED_OBJECT_ALLOC_EVENTS: usize = 43;
    pub const CAN_SUPPORT_VIRTUAL_THREADS: usize = 44;
}

/// `jvmtiCapabilities`: 128 bits.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Capabilities {
    words: [u32; 4],
}

impl Capabilities {
    /// Returns a set of these bits; [`capability`] has their numbers.
    #[must_use]
    pub fn of(bits: &[usize]) -> Self {
        let mut capabilities = Capabilities::default();
        for bit in bits {
            if let Some(word) = capabilities.words.get_mut(bit / 32) {
                *word |= 1 << (bit % 32);
            }
        }
        capabilities
    }
}

/// Event numbers of `jvmtiEvent`.
pub mod event {
    #![allow(missing_docs)]
    use std::ffi::c_int;

    /// `JVMTI_MIN_EVENT_TYPE_VAL`: the event of the first callback.
    pub const MIN: c_int = 50;
    pub const VM_INIT: c_int = 50;
    pub const VM_DEATH: c_int = 51;
    pub const THREAD_START: c_int = 52;
    pub const THREAD_END: c_int = 53;
    pub const CLASS_FILE_LOAD_HOOK: c_int = 54;
    pub const CLASS_PREPARE: c_int = 56;
    pub const VM_START: c_int = 57;
    pub const SINGLE_STEP: c_int = 60;
    pub const NATIVE_METHOD_BIND: c_int = 67;
    pub const COMPILED_METHOD_LOAD: c_int = 68;
    pub const COMPILED_METHOD_UNLOAD: c_int = 69;
    pub const DYNAMIC_CODE_GENERATED: c_int = 70;
    pub const DATA_DUMP_REQUEST: c_int = 71;
    pub const MONITOR_WAIT: c_int = 73;
    pub const MONITOR_WAITED: c_int = 74;
    pub const MONITOR_CONTENDED_ENTER: c_int = 75;
    pub const MONITOR_CONTENDED_ENTERED: c_int = 76;
    pub const GARBAGE_COLLECTION_START: c_int = 81;
    pub const GARBAGE_COLLECTION_FINISH: c_int = 82;
    pub const OBJECT_FREE: c_int = 83;
    pub const VM_OBJECT_ALLOC: c_int = 84;
    pub const SAMPLED_OBJECT_ALLOC: c_int = 86;
    pub const VIRTUAL_THREAD_START: c_int = 87;
    pub const VIRTUAL_THREAD_END: c_int = 88;
    /// Number of callbacks up to that of `VIRTUAL_THREAD_END`, which JDK 21 added. An older JVM ignores the callbacks
    /// at the end of the structure, because it does not know their events.
    pub const COUNT: usize = 39;
}

/// Bits of a thread's state.
pub mod thread_state {
    #![allow(missing_docs)]
    use super::Int;

    pub const RUNNABLE: Int = 0x0004;
    pub const SLEEPING: Int = 0x0040;
    pub const WAITING: Int = 0x0080;
    pub const PARKED: Int = 0x0200;
    pub const BLOCKED_ON_MONITOR_ENTER: Int = 0x0400;
    pub const SUSPENDED: Int = 0x0010_0000;
    pub const INTERRUPTED: Int = 0x0020_0000;
    pub const IN_NATIVE: Int = 0x0040_0000;
}

/// `jvmtiEventCallbacks`: a function or null for each event from 50 on.
#[repr(C)]
pub struct Callbacks {
    /// The functions.
    pub functions: [*const c_void; event::COUNT],
}

/// `jvmtiFrameInfo`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FrameInfo {
    /// The method of the frame.
    pub method: MethodId,
    /// Offset in the code of the method; −1 in a native method.
    pub location: Long,
}

/// `jvmtiExtensionEvent`: the callback of an event that only this JVM has.
pub type ExtensionEvent = *const c_void;

/// `jvmtiExtensionEventInfo`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ExtensionEventInfo {
    /// Number of the event in this JVM.
    pub index: Int,
    /// Name of the event, by which it is known.
    pub id: *mut c_char,
    /// Description.
    pub description: *mut c_char,
    /// Number of parameters of the callback.
    pub parameter_count: Int,
    /// The parameters.
    pub parameters: *mut ExtensionParameter,
}

/// `jvmtiParamInfo`: a parameter of an extension.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ExtensionParameter {
    /// Name.
    pub name: *mut c_char,
    /// Kind and type.
    pub kinds: [c_int; 2],
    /// True if it may be null.
    pub may_be_null: Boolean,
}

/// `jvmtiAddrLocationMap`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AddrLocationMap {
    /// Address in compiled code.
    pub start_address: *const c_void,
    /// Offset in the code of the method.
    pub location: Long,
}

/// `jvmtiThreadInfo`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ThreadInfo {
    /// Name.
    pub name: *mut c_char,
    /// Priority.
    pub priority: Int,
    /// True for a daemon.
    pub is_daemon: Boolean,
    /// Thread group.
    pub group: Object,
    /// Context class loader.
    pub loader: Object,
}

/// `jvmtiThreadGroupInfo`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ThreadGroupInfo {
    /// Parent, or null.
    pub parent: Object,
    /// Name.
    pub name: *mut c_char,
    /// Highest priority of its threads.
    pub max_priority: Int,
    /// True for a group of daemons.
    pub is_daemon: Boolean,
}

/// `jniNativeInterface`, a table of functions.
#[repr(C)]
#[derive(Debug)]
pub struct JniTable {
    /// The first function. The other functions follow it in memory.
    pub first: *const c_void,
}

/// `jvmtiLineNumberEntry`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LineNumberEntry {
    /// Offset in the code at which the line begins.
    pub start_location: Long,
    /// Number of the line.
    pub line_number: Int,
}

/// `jvmtiStackInfo`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct StackInfo {
    /// The thread.
    pub thread: Object,
    /// State of the thread.
    pub state: Int,
    /// Frames of the thread, innermost first.
    pub frame_buffer: *const FrameInfo,
    /// Number of frames.
    pub frame_count: Int,
}

/// `jvmtiMonitorUsage`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MonitorUsage {
    /// The thread that owns the monitor, or null.
    pub owner: Object,
    /// Number of times that the owner has entered.
    pub entry_count: Int,
    /// Number of threads that wait to enter; before JDK 23, threads that wait to be notified are
    /// among them.
    pub waiter_count: Int,
    /// The threads that wait to enter.
    pub waiters: *mut Object,
    /// Number of threads that wait to be notified.
    pub notify_waiter_count: Int,
    /// The threads that wait to be notified.
    pub notify_waiters: *mut Object,
}

/// `jvmtiHeapReferenceKind`: kinds of references.
pub mod reference {
    #![allow(missing_docs)]
    use std::ffi::c_int;

    pub const CLASS: c_int = 1;
    pub const FIELD: c_int = 2;
    pub const ARRAY_ELEMENT: c_int = 3;
    pub const CLASS_LOADER: c_int = 4;
    pub const SIGNERS: c_int = 5;
    pub const PROTECTION_DOMAIN: c_int = 6;
    pub const INTERFACE: c_int = 7;
    pub const STATIC_FIELD: c_int = 8;
    pub const CONSTANT_POOL: c_int = 9;
    pub const SUPERCLASS: c_int = 10;
    pub const JNI_GLOBAL: c_int = 21;
    pub const SYSTEM_CLASS: c_int = 22;
    pub const MONITOR: c_int = 23;
    pub const STACK_LOCAL: c_int = 24;
    pub const JNI_LOCAL: c_int = 25;
    pub const THREAD: c_int = 26;
}

/// `JVMTI_HEAP_FILTER_TAGGED`: only objects without a tag are shown.
pub const FILTER_TAGGED: Int = 0x4;
/// `JVMTI_VISIT_OBJECTS`: the walk goes on and follows the references of the object.
pub const VISIT_OBJECTS: Int = 0x100;
/// `JVMTI_VISIT_ABORT`: the walk ends.
pub const VISIT_ABORT: Int = 0x8000;

/// `jvmtiHeapReferenceInfoStackLocal`. `jvmtiHeapReferenceInfoJniLocal` has the same first fields.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct StackLocal {
    /// Tag of the thread.
    pub thread_tag: Long,
    /// Id of the thread.
    pub thread_id: Long,
    /// Depth of the frame; 0 is the innermost.
    pub depth: Int,
    /// Method of the frame.
    pub method: MethodId,
}

/// `jvmtiHeapReferenceInfo`.
#[repr(C)]
#[derive(Clone, Copy)]
pub union ReferenceInfo {
    /// Index of a field, an array element or a constant.
    pub index: Int,
    /// Place of a local variable or JNI local reference.
    pub local: StackLocal,
}

/// `jvmtiHeapCallbacks`: functions or null.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HeapCallbacks {
    /// Called for each object.
    pub heap_iteration: *const c_void,
    /// Called for each reference.
    pub heap_reference: *const c_void,
    /// Called for each field of a primitive type.
    pub primitive_field: *const c_void,
    /// Called for each array of a primitive type.
    pub array_primitive_value: *const c_void,
    /// The callback for strings, and reserved places.
    pub others: [*const c_void; 12],
}

/// `JNINativeMethod`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NativeMethod {
    /// Name of the method.
    pub name: *const c_char,
    /// Descriptor of the method.
    pub signature: *const c_char,
    /// Function that the method is bound to.
    pub function: *const c_void,
}

/// `jvalue`.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Value {
    /// An `int`.
    pub i: Int,
    /// A `long`.
    pub j: Long,
    /// A reference.
    pub l: Object,
}
