/* Wrong uses of each function of the interface. The specification gives their results, or they must do nothing. */
#ifndef MISUSE_H
#define MISUSE_H

#include "judge.h"

/* Returns true for the events that can be enabled. */
static inline int is_event(jint type) {
    int is_dump = type == JVMPI_EVENT_HEAP_DUMP || type == JVMPI_EVENT_MONITOR_DUMP || type == JVMPI_EVENT_OBJECT_DUMP;
    return (type >= 1 && type <= 9) || (type >= 33 && type <= 61 && type != 36 && !is_dump);
}

#define RETURNS(expected, call) \
    do { \
        long result_ = (long)(call); \
        EXPECT(result_ == (long)(expected), "%s returned %ld instead of %ld", #call, result_, (long)(expected)); \
    } while (0)

static inline void misuse_versions(JavaVM *vm) {
    const jint versions[] = {JVMPI_VERSION_1, JVMPI_VERSION_1_1, JVMPI_VERSION_1_2};
    for (int i = 0; i < 3; i++) {
        JVMPI_Interface *other = NULL;
        RETURNS(JNI_OK, (*vm)->GetEnv(vm, (void **)&other, versions[i]));
        EXPECT(other && other->version >= versions[i], "GetEnv(%x) gives version %x", versions[i],
               other ? other->version : 0);
    }
    void *nothing = NULL;
    EXPECT((*vm)->GetEnv(vm, &nothing, 0x10000004) < 0, "GetEnv knows a version 1.3");
    EXPECT((*vm)->GetEnv(vm, &nothing, 0x20000001) < 0, "GetEnv knows JVMDI");
    void **functions = (void **)jvmpi;
    for (size_t i = 1; i < sizeof *jvmpi / sizeof(void *); i++) {
        EXPECT(functions[i], "the function %zu of the interface is NULL", i);
    }
}

static inline void misuse_events(void) {
    for (jint type = -1; type <= 70; type++) {
        if (!is_event(type)) {
            RETURNS(JVMPI_NOT_AVAILABLE, CALL(EnableEvent)(type, NULL));
            RETURNS(JVMPI_NOT_AVAILABLE, CALL(DisableEvent)(type, NULL));
        } else if (type != JVMPI_EVENT_INSTRUCTION_START) {
            RETURNS(JVMPI_SUCCESS, CALL(DisableEvent)(type, NULL));
            RETURNS(JVMPI_SUCCESS, CALL(EnableEvent)(type, NULL));
            RETURNS(JVMPI_SUCCESS, CALL(EnableEvent)(type, NULL));
            RETURNS(JVMPI_SUCCESS, CALL(DisableEvent)(type, NULL));
        }
        int is_requestable = type == JVMPI_EVENT_CLASS_LOAD || type == JVMPI_EVENT_THREAD_START ||
                             type == JVMPI_EVENT_OBJECT_ALLOC || type == JVMPI_EVENT_HEAP_DUMP ||
                             type == JVMPI_EVENT_MONITOR_DUMP || type == JVMPI_EVENT_OBJECT_DUMP;
        if (!is_requestable) {
            RETURNS(JVMPI_NOT_AVAILABLE, CALL(RequestEvent)(type, NULL));
        }
    }
    RETURNS(JVMPI_NOT_AVAILABLE, CALL(EnableEvent)(0x7fffffff, NULL));
    RETURNS(JVMPI_NOT_AVAILABLE, CALL(RequestEvent)(JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT, NULL));
}

static inline void misuse_monitors(void) {
    CALL(RawMonitorEnter)(NULL);
    CALL(RawMonitorExit)(NULL);
    CALL(RawMonitorWait)(NULL, 0);
    CALL(RawMonitorNotifyAll)(NULL);
    CALL(RawMonitorDestroy)(NULL);
    static char no_monitor[256];
    CALL(RawMonitorEnter)((JVMPI_RawMonitor)no_monitor);
    CALL(RawMonitorExit)((JVMPI_RawMonitor)no_monitor);
    CALL(RawMonitorCreate)(NULL);
    JVMPI_RawMonitor monitor = CALL(RawMonitorCreate)("_misused");
    EXPECT(monitor, "RawMonitorCreate returned NULL");
    CALL(RawMonitorExit)(monitor);
    CALL(RawMonitorNotifyAll)(monitor);
    CALL(RawMonitorWait)(monitor, 0); /* returns at once, because the thread does not own the monitor */
    CALL(RawMonitorEnter)(monitor);
    CALL(RawMonitorWait)(monitor, -1);
    CALL(RawMonitorDestroy)(monitor);
    CALL(RawMonitorDestroy)(monitor);
    CALL(RawMonitorEnter)(monitor);
}

static inline void misuse_threads(void) {
    static char no_thread[1024];
    JNIEnv *bad[] = {NULL, (JNIEnv *)no_thread, (JNIEnv *)16};
    for (int i = 0; i < 3; i++) {
        CALL(SuspendThread)(bad[i]);
        CALL(ResumeThread)(bad[i]);
        CALL(GetThreadStatus)(bad[i]);
        CALL(SetThreadLocalStorage)(bad[i], no_thread);
        RETURNS(JNI_FALSE, CALL(ThreadHasRun)(bad[i]));
        RETURNS(NULL, CALL(GetThreadLocalStorage)(bad[i]));
        RETURNS(NULL, CALL(GetThreadObject)(bad[i]));
        JVMPI_CallFrame frames[4];
        JVMPI_CallTrace trace = {bad[i], 77, frames};
        CALL(GetCallTrace)(&trace, 4);
        EXPECT(trace.num_frames == 0, "GetCallTrace of no thread gives %d frames", trace.num_frames);
    }
    jint results[3] = {0, 0, 0};
    CALL(SuspendThreadList)(3, bad, results);
    EXPECT(results[0] && results[1] && results[2], "SuspendThreadList succeeds for threads that do not exist");
    CALL(ResumeThreadList)(3, bad, results);
    CALL(SuspendThreadList)(0, bad, results);
    CALL(SuspendThreadList)(-1, NULL, NULL);
    CALL(ResumeThreadList)(3, NULL, NULL);
    CALL(GetCallTrace)(NULL, 4);
}

static inline void misuse_ids(void) {
    jobjectID bad[] = {NULL, (jobjectID)0x123456789ABC, (jobjectID)16};
    const jint kinds[] = {JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_OBJECT_ALLOC, JVMPI_EVENT_THREAD_START,
                          JVMPI_EVENT_OBJECT_DUMP};
    for (int i = 0; i < 3; i++) {
        for (int kind = 0; kind < 4; kind++) {
            RETURNS(JVMPI_FAIL, CALL(RequestEvent)(kinds[kind], bad[i]));
        }
        RETURNS(NULL, CALL(jobjectID2jobject)(bad[i]));
    }
    RETURNS(NULL, CALL(jobject2jobjectID)(NULL));
    RETURNS(NULL, CALL(GetMethodClass)(NULL));
}

/* In JVM_OnLoad: the VM has no threads, classes and objects yet. */
static inline void misuse_on_load(JavaVM *vm) {
    misuse_versions(vm);
    misuse_events();
    misuse_monitors();
    misuse_threads();
    misuse_ids();
    RETURNS(JNI_ERR, CALL(CreateSystemThread)(NULL, JVMPI_NORMAL_PRIORITY, NULL));
    CALL(EnableGC)();
    CALL(DisableGC)();
    CALL(EnableGC)();
    CALL(GetCurrentThreadCpuTime)();
    RETURNS(JVMPI_FAIL, CALL(RequestEvent)(JVMPI_EVENT_HEAP_DUMP, NULL));
    RETURNS(JVMPI_FAIL, CALL(RequestEvent)(JVMPI_EVENT_MONITOR_DUMP, NULL));
}

/* In a system thread, whose environment is `env`. */
static inline void misuse_live(JNIEnv *env) {
    misuse_monitors();
    misuse_threads();
    misuse_ids();
    CALL(SuspendThread)(env); /* a thread that suspends itself would never be resumed: ignored */
    JVMPI_CallFrame frames[4];
    JVMPI_CallTrace trace = {env, 77, frames};
    CALL(GetCallTrace)(&trace, 0);
    EXPECT(trace.num_frames == 0, "GetCallTrace of depth 0 gives %d frames", trace.num_frames);
    CALL(GetCallTrace)(&trace, -1);
    EXPECT(trace.num_frames == 0, "GetCallTrace of depth -1 gives %d frames", trace.num_frames);
    trace.frames = NULL;
    CALL(GetCallTrace)(&trace, 4);
    CALL(EnableGC)(); /* without DisableGC */
    RETURNS(JNI_ERR, CALL(CreateSystemThread)("judge-nothing", JVMPI_NORMAL_PRIORITY, NULL));
    CALL(SetThreadLocalStorage)(env, &frames);
    RETURNS(&frames, CALL(GetThreadLocalStorage)(env));
    CALL(SetThreadLocalStorage)(env, NULL);
}

#endif
