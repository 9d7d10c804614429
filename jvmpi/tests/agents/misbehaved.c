/*
 * Agents that do what the specification forbids or leaves open. The program must end as it does without them, unless the
 * agent ends it. The option says how the agent misbehaves:
 *
 * refuse      JVM_OnLoad returns JNI_ERR
 * odd         JVM_OnLoad returns a number that is no JNI result
 * silent      enables events, but sets no NotifyEvent
 * collecting  calls functions in the events of a collection that must not be called there
 * locked      leaves raw monitors locked: by the main thread, and by a thread that has ended; others wait for them
 * blocked     blocks for ever in GC_START, and in the THREAD_START of a thread of its own
 * withheld    disables collections and suspends a thread of its own, and never undoes that
 * dumping     requests dumps, enables events and runs a collection while it handles dumps
 * late        has a thread that calls functions without end, while the JVM ends, too
 * muted       sets NotifyEvent to NULL after some events
 * recursive   calls Java methods in METHOD_ENTRY
 * throwing    leaves a Java exception pending in CLASS_LOAD, THREAD_START, OBJECT_ALLOC, GC_START and GC_FINISH
 * faulty      leaves a Java exception pending in METHOD_ENTRY of Judged.calls
 * leaving     calls ProfilerExit(7) in METHOD_ENTRY of Judged.calls
 * freeing     calls ProfilerExit(9) in OBJECT_FREE
 * helping     calls ProfilerExit(5) in JVM_OnLoad, as HPROF's option help does
 * crashing    dereferences NULL in METHOD_ENTRY of Judged.calls
 */
#include "classes.h"

static const char *const judge = "misbehaved";

static char mode[64];
static JVMPI_RawMonitor held_by_ended, held_by_main;
static int calls_into_java, dumps;
static JavaVM *java_vm;
static JNIEnv *volatile waiting_env;

static int is_mode(const char *name) {
    return strcmp(mode, name) == 0;
}

static void nothing(void *argument) {
    (void)argument;
}

static void holds(void *argument) {
    (void)argument;
    CALL(RawMonitorEnter)(held_by_ended);
}

static void waits(void *argument) {
    (void)argument;
    CALL(RawMonitorEnter)(held_by_main);
    complain("entered a raw monitor that the main thread holds");
}

static void blocks(void) {
    for (;;) {
        pause();
    }
}

/* A thread that waits until the JVM ends. */
static void idles(void *argument) {
    (void)argument;
    JNIEnv *env = NULL;
    (*java_vm)->GetEnv(java_vm, (void **)&env, JNI_VERSION_1_2);
    waiting_env = env;
    blocks();
}

/* Calls functions that look at all parts of the JVM, until the JVM is gone. */
static void calls_for_ever(void *argument) {
    (void)argument;
    JNIEnv *env = NULL;
    (*java_vm)->GetEnv(java_vm, (void **)&env, JNI_VERSION_1_2);
    for (;;) {
        JVMPI_CallFrame frames[8];
        JVMPI_CallTrace trace = {env, 0, frames};
        CALL(GetCallTrace)(&trace, 8);
        CALL(RequestEvent)(JVMPI_EVENT_MONITOR_DUMP, NULL);
        CALL(RequestEvent)(JVMPI_EVENT_THREAD_START, CALL(GetThreadObject)(env));
        CALL(GetThreadStatus)(env);
        CALL(CreateSystemThread)("judge-nothing", JVMPI_NORMAL_PRIORITY, nothing);
        CALL(EnableEvent)(JVMPI_EVENT_MONITOR_WAIT, NULL);
        CALL(DisableEvent)(JVMPI_EVENT_MONITOR_WAIT, NULL);
        CALL(RunGC)();
    }
}

/* Requests further dumps while it handles one, and changes classes. */
static void on_dump(JVMPI_Event *event) {
    static __thread int depth;
    dumps++;
    if (depth == 2) {
        return;
    }
    depth++;
    JVMPI_HeapDumpArg level = {JVMPI_DUMP_LEVEL_0};
    CALL(RequestEvent)(JVMPI_EVENT_HEAP_DUMP, &level);
    CALL(RequestEvent)(JVMPI_EVENT_MONITOR_DUMP, NULL);
    CALL(RequestEvent)(JVMPI_EVENT_OBJECT_DUMP, CALL(GetThreadObject)(event->env_id));
    if (depth == 1) {
        CALL(EnableEvent)(JVMPI_EVENT_METHOD_ENTRY, NULL);
        CALL(DisableEvent)(JVMPI_EVENT_METHOD_ENTRY, NULL);
    }
    CALL(RunGC)();
    depth--;
}

/* Leaves an exception for the code that the thread runs next. */
static void throws(void) {
    JNIEnv *env = NULL;
    if ((*java_vm)->GetEnv(java_vm, (void **)&env, JNI_VERSION_1_2) == JNI_OK && !(*env)->ExceptionCheck(env)) {
        jclass error = (*env)->FindClass(env, "java/lang/IllegalStateException");
        if (error) {
            (*env)->ThrowNew(env, error, "left by the judge");
        }
    }
}

static void in_collection(JVMPI_Event *event) {
    static volatile int is_inside;
    if (is_inside) {
        return; /* an event that these calls cause */
    }
    is_inside = 1;
    CALL(RunGC)();
    CALL(CreateSystemThread)("judge-nothing", JVMPI_NORMAL_PRIORITY, nothing);
    CALL(RequestEvent)(JVMPI_EVENT_HEAP_DUMP, NULL);
    CALL(RequestEvent)(JVMPI_EVENT_MONITOR_DUMP, NULL);
    JVMPI_CallFrame frames[8];
    JVMPI_CallTrace trace = {event->env_id, 0, frames};
    CALL(GetCallTrace)(&trace, 8);
    CALL(DisableGC)();
    CALL(EnableGC)();
    is_inside = 0;
}

static void on_entry(JVMPI_Event *event) {
    if (is_mode("muted")) {
        CALL(NotifyEvent) = NULL;
        return;
    }
    if (is_mode("recursive")) {
        if (__sync_fetch_and_add(&calls_into_java, 1) < 1000) {
            JNIEnv *env = event->env_id;
            jclass system = (*env)->FindClass(env, "java/lang/System");
            jmethodID time = system ? (*env)->GetStaticMethodID(env, system, "lineSeparator", "()Ljava/lang/String;")
                                    : NULL;
            if (time) {
                (*env)->DeleteLocalRef(env, (*env)->CallStaticObjectMethod(env, system, time));
            }
            (*env)->DeleteLocalRef(env, system);
        }
        return;
    }
    Method *method = method_of(event->u.method.method_id, "METHOD_ENTRY");
    if (method && strcmp(method->name, "Judged.calls") == 0) {
        if (is_mode("leaving")) {
            CALL(ProfilerExit)(7);
        } else if (is_mode("faulty")) {
            throws();
        } else if (is_mode("crashing")) {
            *(volatile int *)NULL = 1;
        }
    }
}

static void on_init_done(void) {
    if (is_mode("locked")) {
        CALL(RawMonitorEnter)(held_by_main);
        CALL(CreateSystemThread)("judge-holds", JVMPI_NORMAL_PRIORITY, holds);
        CALL(CreateSystemThread)("judge-waits", JVMPI_NORMAL_PRIORITY, waits);
    } else if (is_mode("blocked")) {
        CALL(CreateSystemThread)("judge-blocked", JVMPI_NORMAL_PRIORITY, nothing);
    } else if (is_mode("withheld")) {
        CALL(CreateSystemThread)("judge-idle", JVMPI_NORMAL_PRIORITY, idles);
        while (!waiting_env) {
            usleep(1000);
        }
        CALL(DisableGC)();
        CALL(SuspendThread)(waiting_env);
    } else if (is_mode("dumping")) {
        CALL(RequestEvent)(JVMPI_EVENT_HEAP_DUMP, NULL);
    } else if (is_mode("late")) {
        CALL(CreateSystemThread)("judge-late", JVMPI_NORMAL_PRIORITY, calls_for_ever);
    }
}

/* The events of the modes that leave exceptions. */
static void on_event(JVMPI_Event *event) {
    if (is_mode("throwing")) {
        throws();
    } else if (is_mode("blocked") && event->event_type == JVMPI_EVENT_THREAD_START &&
               strcmp(event->u.thread_start.thread_name, "judge-blocked") == 0) {
        blocks();
    }
}

static void notify(JVMPI_Event *event) {
    switch (event->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
    case JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT:
        on_class_load(event);
        on_event(event);
        break;
    case JVMPI_EVENT_THREAD_START:
    case JVMPI_EVENT_OBJECT_ALLOC:
        on_event(event);
        break;
    case JVMPI_EVENT_HEAP_DUMP | JVMPI_REQUESTED_EVENT:
    case JVMPI_EVENT_MONITOR_DUMP | JVMPI_REQUESTED_EVENT:
    case JVMPI_EVENT_OBJECT_DUMP | JVMPI_REQUESTED_EVENT:
        if (is_mode("dumping")) {
            on_dump(event);
        }
        break;
    case JVMPI_EVENT_METHOD_ENTRY:
        on_entry(event);
        break;
    case JVMPI_EVENT_GC_START:
    case JVMPI_EVENT_OBJECT_FREE:
    case JVMPI_EVENT_GC_FINISH:
        if (is_mode("freeing") && event->event_type == JVMPI_EVENT_OBJECT_FREE) {
            CALL(ProfilerExit)(9);
        } else if (is_mode("blocked")) {
            blocks();
        } else if (is_mode("throwing")) {
            throws();
        } else if (is_mode("collecting")) {
            in_collection(event);
        }
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        on_init_done();
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        EXPECT(!is_mode("dumping") || dumps > 3, "%d dumps", dumps);
        verdict();
        break;
    }
}

static int is_one_of(const char *modes) {
    return *mode && strstr(modes, mode) != NULL;
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    java_vm = vm;
    snprintf(mode, sizeof mode, "%s", options ? options : "");
    if (begin(vm, is_mode("silent") ? NULL : notify) != JNI_OK) {
        return JNI_ERR;
    }
    held_by_ended = CALL(RawMonitorCreate)("judge-held-by-ended");
    held_by_main = CALL(RawMonitorCreate)("judge-held-by-main");
    enable(JVMPI_EVENT_JVM_INIT_DONE);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    if (is_one_of("collecting silent blocked withheld freeing throwing muted")) {
        enable(JVMPI_EVENT_GC_START);
        enable(JVMPI_EVENT_GC_FINISH);
        enable(JVMPI_EVENT_OBJECT_FREE);
    }
    if (is_one_of("recursive leaving crashing silent faulty muted")) {
        enable(JVMPI_EVENT_CLASS_LOAD);
        enable(JVMPI_EVENT_METHOD_ENTRY);
    }
    if (is_one_of("throwing freeing blocked muted late")) {
        enable(JVMPI_EVENT_CLASS_LOAD);
        enable(JVMPI_EVENT_THREAD_START);
        enable(JVMPI_EVENT_OBJECT_ALLOC);
    }
    if (is_mode("helping")) {
        CALL(ProfilerExit)(5);
    }
    return is_mode("refuse") ? JNI_ERR : is_mode("odd") ? 4711 : JNI_OK;
}
