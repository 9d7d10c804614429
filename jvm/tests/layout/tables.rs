//! Names in the headers, each with the number in `sys` that is compared with the number in the
//! header.

use loadhook_jvm::sys::{capability, event, jni, jvmti, reference};

/// Functions of JVM TI: their names in the header, and their slots in `sys`.
pub(crate) const JVMTI: &[(&str, usize)] = &[
    (
        "SetEventNotificationMode",
        jvmti::SET_EVENT_NOTIFICATION_MODE,
    ),
    ("GetAllThreads", jvmti::GET_ALL_THREADS),
    ("SuspendThread", jvmti::SUSPEND_THREAD),
    ("ResumeThread", jvmti::RESUME_THREAD),
    ("GetThreadInfo", jvmti::GET_THREAD_INFO),
    ("GetThreadGroupInfo", jvmti::GET_THREAD_GROUP_INFO),
    ("GetObjectsWithTags", jvmti::GET_OBJECTS_WITH_TAGS),
    ("SetJNIFunctionTable", jvmti::SET_JNI_FUNCTION_TABLE),
    ("GetJNIFunctionTable", jvmti::GET_JNI_FUNCTION_TABLE),
    ("IsMethodObsolete", jvmti::IS_METHOD_OBSOLETE),
    ("GetThreadState", jvmti::GET_THREAD_STATE),
    ("GetOwnedMonitorInfo", jvmti::GET_OWNED_MONITOR_INFO),
    (
        "GetCurrentContendedMonitor",
        jvmti::GET_CURRENT_CONTENDED_MONITOR,
    ),
    ("GetObjectMonitorUsage", jvmti::GET_OBJECT_MONITOR_USAGE),
    ("RunAgentThread", jvmti::RUN_AGENT_THREAD),
    ("GetTopThreadGroups", jvmti::GET_TOP_THREAD_GROUPS),
    ("GetNamedModule", jvmti::GET_NAMED_MODULE),
    ("IsModifiableClass", jvmti::IS_MODIFIABLE_CLASS),
    ("Allocate", jvmti::ALLOCATE),
    ("Deallocate", jvmti::DEALLOCATE),
    ("GetClassSignature", jvmti::GET_CLASS_SIGNATURE),
    ("GetClassStatus", jvmti::GET_CLASS_STATUS),
    ("GetSourceFileName", jvmti::GET_SOURCE_FILE_NAME),
    ("GetClassLoader", jvmti::GET_CLASS_LOADER),
    ("GetObjectHashCode", jvmti::GET_OBJECT_HASH_CODE),
    ("GetClassLoaderClasses", jvmti::GET_CLASS_LOADER_CLASSES),
    ("GetObjectSize", jvmti::GET_OBJECT_SIZE),
    ("GetMethodName", jvmti::GET_METHOD_NAME),
    ("GetMethodDeclaringClass", jvmti::GET_METHOD_DECLARING_CLASS),
    ("GetLineNumberTable", jvmti::GET_LINE_NUMBER_TABLE),
    ("GetLoadedClasses", jvmti::GET_LOADED_CLASSES),
    ("GetBytecodes", jvmti::GET_BYTECODES),
    ("GetConstantPool", jvmti::GET_CONSTANT_POOL),
    ("GetLocalInt", jvmti::GET_LOCAL_INT),
    ("GetStackTrace", jvmti::GET_STACK_TRACE),
    ("SetTag", jvmti::SET_TAG),
    ("GetTag", jvmti::GET_TAG),
    ("GetClassMethods", jvmti::GET_CLASS_METHODS),
    ("GenerateEvents", jvmti::GENERATE_EVENTS),
    ("GetExtensionEvents", jvmti::GET_EXTENSION_EVENTS),
    (
        "SetExtensionEventCallback",
        jvmti::SET_EXTENSION_EVENT_CALLBACK,
    ),
    ("GetClassFields", jvmti::GET_CLASS_FIELDS),
    (
        "GetImplementedInterfaces",
        jvmti::GET_IMPLEMENTED_INTERFACES,
    ),
    ("GetClassLoader", jvmti::GET_CLASS_LOADER),
    ("GetFieldName", jvmti::GET_FIELD_NAME),
    ("GetFieldModifiers", jvmti::GET_FIELD_MODIFIERS),
    (
        "GetThreadListStackTraces",
        jvmti::GET_THREAD_LIST_STACK_TRACES,
    ),
    ("FollowReferences", jvmti::FOLLOW_REFERENCES),
    ("IterateThroughHeap", jvmti::ITERATE_THROUGH_HEAP),
    ("DisposeEnvironment", jvmti::DISPOSE_ENVIRONMENT),
    ("ForceGarbageCollection", jvmti::FORCE_GARBAGE_COLLECTION),
    ("SetEventCallbacks", jvmti::SET_EVENT_CALLBACKS),
    ("GetSystemProperty", jvmti::GET_SYSTEM_PROPERTY),
    ("GetCurrentThread", jvmti::GET_CURRENT_THREAD),
    (
        "GetCurrentThreadCpuTime",
        jvmti::GET_CURRENT_THREAD_CPU_TIME,
    ),
    ("GetThreadCpuTime", jvmti::GET_THREAD_CPU_TIME),
    ("AddCapabilities", jvmti::ADD_CAPABILITIES),
    ("RetransformClasses", jvmti::RETRANSFORM_CLASSES),
    ("SetHeapSamplingInterval", jvmti::SET_HEAP_SAMPLING_INTERVAL),
];

/// Functions of JNI: their names in the header, and their slots in `sys`.
pub(crate) const JNI: &[(&str, usize)] = &[
    ("DefineClass", jni::DEFINE_CLASS),
    ("FindClass", jni::FIND_CLASS),
    ("GetSuperclass", jni::GET_SUPERCLASS),
    ("Throw", jni::THROW),
    ("ExceptionOccurred", jni::EXCEPTION_OCCURRED),
    ("ExceptionClear", jni::EXCEPTION_CLEAR),
    ("PushLocalFrame", jni::PUSH_LOCAL_FRAME),
    ("PopLocalFrame", jni::POP_LOCAL_FRAME),
    ("NewGlobalRef", jni::NEW_GLOBAL_REF),
    ("DeleteGlobalRef", jni::DELETE_GLOBAL_REF),
    ("IsSameObject", jni::IS_SAME_OBJECT),
    ("NewLocalRef", jni::NEW_LOCAL_REF),
    ("EnsureLocalCapacity", jni::ENSURE_LOCAL_CAPACITY),
    ("AllocObject", jni::ALLOC_OBJECT),
    ("NewObjectA", jni::NEW_OBJECT_A),
    ("GetObjectClass", jni::GET_OBJECT_CLASS),
    ("IsInstanceOf", jni::IS_INSTANCE_OF),
    ("GetMethodID", jni::GET_METHOD_ID),
    ("CallLongMethodA", jni::CALL_LONG_METHOD_A),
    ("CallVoidMethodA", jni::CALL_VOID_METHOD_A),
    ("GetFieldID", jni::GET_FIELD_ID),
    ("GetObjectField", jni::GET_OBJECT_FIELD),
    ("GetLongField", jni::GET_LONG_FIELD),
    ("GetStaticMethodID", jni::GET_STATIC_METHOD_ID),
    ("CallStaticObjectMethodA", jni::CALL_STATIC_OBJECT_METHOD_A),
    (
        "CallStaticBooleanMethodA",
        jni::CALL_STATIC_BOOLEAN_METHOD_A,
    ),
    ("CallStaticIntMethodA", jni::CALL_STATIC_INT_METHOD_A),
    ("CallStaticLongMethodA", jni::CALL_STATIC_LONG_METHOD_A),
    ("CallStaticVoidMethodA", jni::CALL_STATIC_VOID_METHOD_A),
    ("NewStringUTF", jni::NEW_STRING_UTF),
    ("GetStringUTFChars", jni::GET_STRING_UTF_CHARS),
    ("ReleaseStringUTFChars", jni::RELEASE_STRING_UTF_CHARS),
    ("GetArrayLength", jni::GET_ARRAY_LENGTH),
    ("NewByteArray", jni::NEW_BYTE_ARRAY),
    ("NewLongArray", jni::NEW_LONG_ARRAY),
    ("GetByteArrayRegion", jni::GET_BYTE_ARRAY_REGION),
    ("SetByteArrayRegion", jni::SET_BYTE_ARRAY_REGION),
    ("RegisterNatives", jni::REGISTER_NATIVES),
    ("GetLongArrayRegion", jni::GET_LONG_ARRAY_REGION),
];

/// Events: their names in the header, their numbers in `sys`, and the names of their callbacks.
pub(crate) const EVENTS: &[(&str, i32, &str)] = &[
    ("JVMTI_EVENT_VM_INIT", event::VM_INIT, "VMInit"),
    ("JVMTI_EVENT_VM_DEATH", event::VM_DEATH, "VMDeath"),
    (
        "JVMTI_EVENT_THREAD_START",
        event::THREAD_START,
        "ThreadStart",
    ),
    ("JVMTI_EVENT_THREAD_END", event::THREAD_END, "ThreadEnd"),
    (
        "JVMTI_EVENT_CLASS_PREPARE",
        event::CLASS_PREPARE,
        "ClassPrepare",
    ),
    (
        "JVMTI_EVENT_COMPILED_METHOD_LOAD",
        event::COMPILED_METHOD_LOAD,
        "CompiledMethodLoad",
    ),
    (
        "JVMTI_EVENT_COMPILED_METHOD_UNLOAD",
        event::COMPILED_METHOD_UNLOAD,
        "CompiledMethodUnload",
    ),
    (
        "JVMTI_EVENT_DYNAMIC_CODE_GENERATED",
        event::DYNAMIC_CODE_GENERATED,
        "DynamicCodeGenerated",
    ),
    (
        "JVMTI_EVENT_CLASS_FILE_LOAD_HOOK",
        event::CLASS_FILE_LOAD_HOOK,
        "ClassFileLoadHook",
    ),
    ("JVMTI_EVENT_VM_START", event::VM_START, "VMStart"),
    ("JVMTI_EVENT_SINGLE_STEP", event::SINGLE_STEP, "SingleStep"),
    ("JVMTI_EVENT_OBJECT_FREE", event::OBJECT_FREE, "ObjectFree"),
    (
        "JVMTI_EVENT_GARBAGE_COLLECTION_START",
        event::GARBAGE_COLLECTION_START,
        "GarbageCollectionStart",
    ),
    (
        "JVMTI_EVENT_GARBAGE_COLLECTION_FINISH",
        event::GARBAGE_COLLECTION_FINISH,
        "GarbageCollectionFinish",
    ),
    (
        "JVMTI_EVENT_NATIVE_METHOD_BIND",
        event::NATIVE_METHOD_BIND,
        "NativeMethodBind",
    ),
    (
        "JVMTI_EVENT_DATA_DUMP_REQUEST",
        event::DATA_DUMP_REQUEST,
        "DataDumpRequest",
    ),
    (
        "JVMTI_EVENT_MONITOR_WAIT",
        event::MONITOR_WAIT,
        "MonitorWait",
    ),
    (
        "JVMTI_EVENT_MONITOR_WAITED",
        event::MONITOR_WAITED,
        "MonitorWaited",
    ),
    (
        "JVMTI_EVENT_MONITOR_CONTENDED_ENTER",
        event::MONITOR_CONTENDED_ENTER,
        "MonitorContendedEnter",
    ),
    (
        "JVMTI_EVENT_MONITOR_CONTENDED_ENTERED",
        event::MONITOR_CONTENDED_ENTERED,
        "MonitorContendedEntered",
    ),
    (
        "JVMTI_EVENT_VM_OBJECT_ALLOC",
        event::VM_OBJECT_ALLOC,
        "VMObjectAlloc",
    ),
    (
        "JVMTI_EVENT_SAMPLED_OBJECT_ALLOC",
        event::SAMPLED_OBJECT_ALLOC,
        "SampledObjectAlloc",
    ),
];

/// Capabilities: their names in the header, and their bits in `sys`.
pub(crate) const CAPABILITIES: &[(&str, usize)] = &[
    ("can_tag_objects", capability::CAN_TAG_OBJECTS),
    ("can_suspend", capability::CAN_SUSPEND),
    ("can_get_bytecodes", capability::CAN_GET_BYTECODES),
    ("can_get_constant_pool", capability::CAN_GET_CONSTANT_POOL),
    (
        "can_access_local_variables",
        capability::CAN_ACCESS_LOCAL_VARIABLES,
    ),
    (
        "can_generate_single_step_events",
        capability::CAN_GENERATE_SINGLE_STEP_EVENTS,
    ),
    (
        "can_generate_object_free_events",
        capability::CAN_GENERATE_OBJECT_FREE_EVENTS,
    ),
    (
        "can_generate_monitor_events",
        capability::CAN_GENERATE_MONITOR_EVENTS,
    ),
    ("can_get_monitor_info", capability::CAN_GET_MONITOR_INFO),
    (
        "can_get_owned_monitor_info",
        capability::CAN_GET_OWNED_MONITOR_INFO,
    ),
    (
        "can_get_current_contended_monitor",
        capability::CAN_GET_CURRENT_CONTENDED_MONITOR,
    ),
    (
        "can_get_source_file_name",
        capability::CAN_GET_SOURCE_FILE_NAME,
    ),
    ("can_get_line_numbers", capability::CAN_GET_LINE_NUMBERS),
    (
        "can_generate_garbage_collection_events",
        capability::CAN_GENERATE_GARBAGE_COLLECTION_EVENTS,
    ),
    (
        "can_generate_compiled_method_load_events",
        capability::CAN_GENERATE_COMPILED_METHOD_LOAD_EVENTS,
    ),
    (
        "can_generate_vm_object_alloc_events",
        capability::CAN_GENERATE_VM_OBJECT_ALLOC_EVENTS,
    ),
    (
        "can_generate_sampled_object_alloc_events",
        capability::CAN_GENERATE_SAMPLED_OBJECT_ALLOC_EVENTS,
    ),
    (
        "can_get_current_thread_cpu_time",
        capability::CAN_GET_CURRENT_THREAD_CPU_TIME,
    ),
    (
        "can_get_thread_cpu_time",
        capability::CAN_GET_THREAD_CPU_TIME,
    ),
    (
        "can_generate_all_class_hook_events",
        capability::CAN_GENERATE_ALL_CLASS_HOOK_EVENTS,
    ),
    (
        "can_retransform_classes",
        capability::CAN_RETRANSFORM_CLASSES,
    ),
    (
        "can_retransform_any_class",
        capability::CAN_RETRANSFORM_ANY_CLASS,
    ),
];

/// Kinds of references: the ends of their names in the header, and their numbers in `sys`.
pub(crate) const REFERENCES: &[(&str, i32)] = &[
    ("CLASS", reference::CLASS),
    ("FIELD", reference::FIELD),
    ("ARRAY_ELEMENT", reference::ARRAY_ELEMENT),
    ("CLASS_LOADER", reference::CLASS_LOADER),
    ("SIGNERS", reference::SIGNERS),
    ("PROTECTION_DOMAIN", reference::PROTECTION_DOMAIN),
    ("INTERFACE", reference::INTERFACE),
    ("STATIC_FIELD", reference::STATIC_FIELD),
    ("CONSTANT_POOL", reference::CONSTANT_POOL),
    ("SUPERCLASS", reference::SUPERCLASS),
    ("JNI_GLOBAL", reference::JNI_GLOBAL),
    ("SYSTEM_CLASS", reference::SYSTEM_CLASS),
    ("MONITOR", reference::MONITOR),
    ("STACK_LOCAL", reference::STACK_LOCAL),
    ("JNI_LOCAL", reference::JNI_LOCAL),
    ("THREAD", reference::THREAD),
];
