/*
 * The Java Virtual Machine Profiler Interface (JVMPI), versions 1.0 to 1.2, as Loadhook's layer offers it.
 *
 * Written from the specification, with the names and numbers by which profilers of JDK 1.2 to 1.4 were built.
 * A profiler that includes this header runs on the layer unchanged; docs/user/jvmpi.md says how.
 *
 * Numbers and offsets are held by tests/agents/layout.c.
 */
#ifndef LOADHOOK_JVMPI_H
#define LOADHOOK_JVMPI_H

#include <jni.h>

/* Versions: the third argument of JavaVM's GetEnv. */
#define JVMPI_VERSION_1   ((jint)0x10000001)
#define JVMPI_VERSION_1_1 ((jint)0x10000002) /* adds jobjectID2jobject, jobject2jobjectID, INSTRUCTION_START */
#define JVMPI_VERSION_1_2 ((jint)0x10000003) /* adds SuspendThreadList, ResumeThreadList */

/* Results of EnableEvent, DisableEvent and RequestEvent. */
#define JVMPI_SUCCESS       ((jint)0)
#define JVMPI_NOT_AVAILABLE ((jint)1)
#define JVMPI_FAIL          ((jint)-1)

/* Events: event_type. */
#define JVMPI_EVENT_METHOD_ENTRY                  ((jint)1)
#define JVMPI_EVENT_METHOD_ENTRY2                 ((jint)2)
#define JVMPI_EVENT_METHOD_EXIT                   ((jint)3)
#define JVMPI_EVENT_OBJECT_ALLOC                  ((jint)4)
#define JVMPI_EVENT_OBJECT_FREE                   ((jint)5)
#define JVMPI_EVENT_OBJECT_MOVE                   ((jint)6)
#define JVMPI_EVENT_COMPILED_METHOD_LOAD          ((jint)7)
#define JVMPI_EVENT_COMPILED_METHOD_UNLOAD        ((jint)8)
#define JVMPI_EVENT_INSTRUCTION_START             ((jint)9)
#define JVMPI_EVENT_THREAD_START                  ((jint)33)
#define JVMPI_EVENT_THREAD_END                    ((jint)34)
#define JVMPI_EVENT_CLASS_LOAD_HOOK               ((jint)35)
#define JVMPI_EVENT_HEAP_DUMP                     ((jint)37)
#define JVMPI_EVENT_JNI_GLOBALREF_ALLOC           ((jint)38)
#define JVMPI_EVENT_JNI_GLOBALREF_FREE            ((jint)39)
#define JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC      ((jint)40)
#define JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE       ((jint)41)
#define JVMPI_EVENT_CLASS_LOAD                    ((jint)42)
#define JVMPI_EVENT_CLASS_UNLOAD                  ((jint)43)
#define JVMPI_EVENT_DATA_DUMP_REQUEST             ((jint)44)
#define JVMPI_EVENT_DATA_RESET_REQUEST            ((jint)45)
#define JVMPI_EVENT_JVM_INIT_DONE                 ((jint)46)
#define JVMPI_EVENT_JVM_SHUT_DOWN                 ((jint)47)
#define JVMPI_EVENT_ARENA_NEW                     ((jint)48)
#define JVMPI_EVENT_ARENA_DELETE                  ((jint)49)
#define JVMPI_EVENT_OBJECT_DUMP                   ((jint)50)
#define JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER   ((jint)51)
#define JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED ((jint)52)
#define JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT    ((jint)53)
#define JVMPI_EVENT_MONITOR_CONTENDED_ENTER       ((jint)54)
#define JVMPI_EVENT_MONITOR_CONTENDED_ENTERED     ((jint)55)
#define JVMPI_EVENT_MONITOR_CONTENDED_EXIT        ((jint)56)
#define JVMPI_EVENT_MONITOR_WAIT                  ((jint)57)
#define JVMPI_EVENT_MONITOR_WAITED                ((jint)58)
#define JVMPI_EVENT_MONITOR_DUMP                  ((jint)59)
#define JVMPI_EVENT_GC_START                      ((jint)60)
#define JVMPI_EVENT_GC_FINISH                     ((jint)61)
#define JVMPI_MAX_EVENT_TYPE_VAL                  ((jint)61)

/* Set in event_type when RequestEvent asked for the event. */
#define JVMPI_REQUESTED_EVENT ((jint)0x10000000)

/* Older names of some events. */
#define JVMPI_EVENT_OBJ_ALLOC              JVMPI_EVENT_OBJECT_ALLOC
#define JVMPI_EVENT_OBJ_FREE               JVMPI_EVENT_OBJECT_FREE
#define JVMPI_EVENT_OBJ_MOVE               JVMPI_EVENT_OBJECT_MOVE
#define JVMPI_EVENT_LOAD_COMPILED_METHOD   JVMPI_EVENT_COMPILED_METHOD_LOAD
#define JVMPI_EVENT_UNLOAD_COMPILED_METHOD JVMPI_EVENT_COMPILED_METHOD_UNLOAD
#define JVMPI_EVENT_DUMP_DATA_REQUEST      JVMPI_EVENT_DATA_DUMP_REQUEST
#define JVMPI_EVENT_RESET_DATA_REQUEST     JVMPI_EVENT_DATA_RESET_REQUEST
#define JVMPI_EVENT_NEW_ARENA              JVMPI_EVENT_ARENA_NEW
#define JVMPI_EVENT_DELETE_ARENA           JVMPI_EVENT_ARENA_DELETE

/* Kinds of objects (obj_alloc.is_array, level 0 of a heap dump) and types of values in dumps. */
#define JVMPI_NORMAL_OBJECT ((jint)0)
#define JVMPI_CLASS         ((jint)2) /* array of objects; as the type of a value, a reference */
#define JVMPI_BOOLEAN       ((jint)4)
#define JVMPI_CHAR          ((jint)5)
#define JVMPI_FLOAT         ((jint)6)
#define JVMPI_DOUBLE        ((jint)7)
#define JVMPI_BYTE          ((jint)8)
#define JVMPI_SHORT         ((jint)9)
#define JVMPI_INT           ((jint)10)
#define JVMPI_LONG          ((jint)11)

/* Monitors in a monitor dump. */
#define JVMPI_MONITOR_JAVA 0x01
#define JVMPI_MONITOR_RAW  0x02

/* Records of a heap dump. */
#define JVMPI_GC_ROOT_UNKNOWN      0xff
#define JVMPI_GC_ROOT_JNI_GLOBAL   0x01
#define JVMPI_GC_ROOT_JNI_LOCAL    0x02
#define JVMPI_GC_ROOT_JAVA_FRAME   0x03
#define JVMPI_GC_ROOT_NATIVE_STACK 0x04
#define JVMPI_GC_ROOT_STICKY_CLASS 0x05
#define JVMPI_GC_ROOT_THREAD_BLOCK 0x06
#define JVMPI_GC_ROOT_MONITOR_USED 0x07
#define JVMPI_GC_ROOT_THREAD_OBJ   0x08
#define JVMPI_GC_CLASS_DUMP        0x20
#define JVMPI_GC_INSTANCE_DUMP     0x21
#define JVMPI_GC_OBJ_ARRAY_DUMP    0x22
#define JVMPI_GC_PRIM_ARRAY_DUMP   0x23

/* JVMPI_HeapDumpArg.heap_dump_level. */
#define JVMPI_DUMP_LEVEL_0 ((jint)0)
#define JVMPI_DUMP_LEVEL_1 ((jint)1)
#define JVMPI_DUMP_LEVEL_2 ((jint)2)

/* Results of GetThreadStatus: a status, and flags or-ed into it. */
#define JVMPI_THREAD_RUNNABLE     ((jint)1)
#define JVMPI_THREAD_MONITOR_WAIT ((jint)2)
#define JVMPI_THREAD_CONDVAR_WAIT ((jint)3)
#define JVMPI_THREAD_SUSPENDED    0x8000
#define JVMPI_THREAD_INTERRUPTED  0x4000

/* CreateSystemThread's priorities. */
#define JVMPI_MINIMUM_PRIORITY 1
#define JVMPI_NORMAL_PRIORITY  5
#define JVMPI_MAXIMUM_PRIORITY 10

struct _jobjectID;
typedef struct _jobjectID *jobjectID;

struct _JVMPI_RawMonitor;
typedef struct _JVMPI_RawMonitor *JVMPI_RawMonitor;

typedef struct {
    jint lineno; /* line in the source file; negative without one */
    jmethodID method_id;
} JVMPI_CallFrame;

typedef struct {
    JNIEnv *env_id;          /* the thread: set by the caller of GetCallTrace */
    jint num_frames;         /* set by the VM */
    JVMPI_CallFrame *frames; /* the caller's array; the innermost call comes first */
} JVMPI_CallTrace;

typedef struct {
    char *method_name;
    char *method_signature;
    jint start_lineno; /* -1 for native and abstract methods, as is end_lineno */
    jint end_lineno;
    jmethodID method_id;
} JVMPI_Method;

typedef struct {
    char *field_name;
    char *field_signature;
} JVMPI_Field;

typedef struct {
    jint offset; /* from the beginning of the method's machine code */
    jint lineno;
} JVMPI_Lineno;

/* RequestEvent's argument for JVMPI_EVENT_HEAP_DUMP; NULL means level 2. */
typedef struct {
    jint heap_dump_level;
} JVMPI_HeapDumpArg;

typedef struct {
    jint event_type;
    JNIEnv *env_id; /* the thread in which the event happened */

    union {
        struct {
            char *class_name;
            char *source_name;
            jint num_interfaces; /* those that the class itself implements */
            jint num_methods;
            JVMPI_Method *methods;
            jint num_static_fields;
            JVMPI_Field *statics;
            jint num_instance_fields;
            JVMPI_Field *instances;
            jobjectID class_id;
        } class_load;

        struct {
            jobjectID class_id;
        } class_unload;

        struct {
            unsigned char *class_data;
            jint class_data_len;
            unsigned char *new_class_data; /* set by the profiler: memory of malloc_f, or class_data again */
            jint new_class_data_len;
            void *(*malloc_f)(unsigned int);
        } class_load_hook;

        struct {
            jint arena_id;
            jobjectID class_id; /* of an array of objects: the class of its elements */
            jint is_array;      /* JVMPI_NORMAL_OBJECT, JVMPI_CLASS, JVMPI_BOOLEAN, ... */
            jint size;          /* bytes */
            jobjectID obj_id;
        } obj_alloc;

        struct {
            jobjectID obj_id;
        } obj_free;

        struct {
            jint arena_id;
            jobjectID obj_id;
            jint new_arena_id;
            jobjectID new_obj_id;
        } obj_move;

        struct {
            jint arena_id;
            char *arena_name;
        } new_arena;

        struct {
            jint arena_id;
        } delete_arena;

        struct {
            char *thread_name;
            char *group_name;
            char *parent_name;
            jobjectID thread_id;
            JNIEnv *thread_env_id;
        } thread_start;

        struct {
            int dump_level;
            char *begin;
            char *end;
            jint num_traces;
            JVMPI_CallTrace *traces;
        } heap_dump;

        struct {
            jobjectID obj_id;
            jobject ref_id;
        } jni_globalref_alloc; /* of weak references, too */

        struct {
            jobject ref_id;
        } jni_globalref_free; /* of weak references, too */

        struct {
            jmethodID method_id;
        } method; /* METHOD_ENTRY and METHOD_EXIT */

        struct {
            jmethodID method_id;
            jobjectID obj_id; /* the object of the call; NULL for a static method */
        } method_entry2;

        struct {
            jmethodID method_id;
            void *code_addr;
            jint code_size;
            jint lineno_table_size; /* entries */
            JVMPI_Lineno *lineno_table;
        } compiled_method_load;

        struct {
            jmethodID method_id;
        } compiled_method_unload;

        struct {
            jmethodID method_id;
            jint offset; /* of the bytecode instruction */
            union {
                struct {
                    jboolean is_true;
                } if_info;
                struct {
                    jint key;
                    jint low;
                    jint hi;
                } tableswitch_info;
                struct {
                    jint chosen_pair_index; /* from 0; pairs_total for the default */
                    jint pairs_total;
                } lookupswitch_info;
            } u;
        } instruction;

        struct {
            char *begin;
            char *end;
            jint num_traces;
            JVMPI_CallTrace *traces; /* one a thread */
            jint *threads_status;    /* one a trace */
        } monitor_dump;

        struct {
            char *name;
            JVMPI_RawMonitor id;
        } raw_monitor;

        struct {
            jobjectID object;
        } monitor;

        struct {
            jobjectID object; /* NULL in Thread.sleep */
            jlong timeout;    /* milliseconds; of MONITOR_WAIT, 0 is for ever */
        } monitor_wait;

        struct {
            jlong used_objects;
            jlong used_object_space;
            jlong total_object_space;
        } gc_info;

        struct {
            jint data_len;
            char *data;
        } object_dump;
    } u;
} JVMPI_Event;

typedef struct {
    jint version; /* of the interface that the VM offers */

    /* Implemented by the profiler, which sets it in JVM_OnLoad. */
    void (*NotifyEvent)(JVMPI_Event *event);

    /* Implemented by the VM. */
    jint (*EnableEvent)(jint event_type, void *arg);
    jint (*DisableEvent)(jint event_type, void *arg);
    jint (*RequestEvent)(jint event_type, void *arg);

    void (*GetCallTrace)(JVMPI_CallTrace *trace, jint depth);

    void (*ProfilerExit)(jint err_code);

    JVMPI_RawMonitor (*RawMonitorCreate)(char *lock_name);
    void (*RawMonitorEnter)(JVMPI_RawMonitor lock_id);
    void (*RawMonitorExit)(JVMPI_RawMonitor lock_id);
    void (*RawMonitorWait)(JVMPI_RawMonitor lock_id, jlong ms);
    void (*RawMonitorNotifyAll)(JVMPI_RawMonitor lock_id);
    void (*RawMonitorDestroy)(JVMPI_RawMonitor lock_id);

    jlong (*GetCurrentThreadCpuTime)(void); /* nanoseconds */
    void (*SuspendThread)(JNIEnv *env);
    void (*ResumeThread)(JNIEnv *env);
    jint (*GetThreadStatus)(JNIEnv *env);
    jboolean (*ThreadHasRun)(JNIEnv *env);

    jint (*CreateSystemThread)(char *name, jint priority, void (*f)(void *));
    void (*SetThreadLocalStorage)(JNIEnv *env_id, void *ptr);
    void *(*GetThreadLocalStorage)(JNIEnv *env_id);

    void (*DisableGC)(void);
    void (*EnableGC)(void);
    void (*RunGC)(void);

    jobjectID (*GetThreadObject)(JNIEnv *env);
    jobjectID (*GetMethodClass)(jmethodID mid);

    /* From version 1.1 on. */
    jobject (*jobjectID2jobject)(jobjectID jid);
    jobjectID (*jobject2jobjectID)(jobject jobj);

    /* From version 1.2 on. */
    void (*SuspendThreadList)(jint reqCount, JNIEnv **reqList, jint *results);
    void (*ResumeThreadList)(jint reqCount, JNIEnv **reqList, jint *results);
} JVMPI_Interface;

#endif
