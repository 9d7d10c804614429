/*
 * Agents that do what the specification forbids or leaves open. The program must end as it does without them, unless the
 * agent ends it. The option says how the agent misbehaves:
 *
 * refuse      JVM_OnLoad returns JNI_ERR
 * odd         JVM_OnLoad returns a number that is no JNI result
 * silent      enables events, but sets no NotifyEvent
 * collecting  calls functions in the events of a collection that must not be called there
 * locked      leaves raw monitors locked: by the main thread, and by a thread that has ended; others wait for them
 * recursive   calls Java methods in METHOD_ENTRY
 * leaving     calls ProfilerExit(7) in METHOD_ENTRY of Judged.calls
 * helping     calls ProfilerExit(5) in JVM_OnLoad, as HPROF's option help does
 * crashing    dereferences NULL in METHOD_ENTRY of Judged.calls
 */
#include "classes.h"

static const char *const judge = "misbehaved";

static char mode[64];
static JVMPI_RawMonitor held_by_ended, held_by_main;
static int calls_into_java;

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
    }
}

static void notify(JVMPI_Event *event) {
    switch (event->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
    case JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT:
        on_class_load(event);
        break;
    case JVMPI_EVENT_METHOD_ENTRY:
        on_entry(event);
        break;
    case JVMPI_EVENT_GC_START:
    case JVMPI_EVENT_OBJECT_FREE:
    case JVMPI_EVENT_GC_FINISH:
        in_collection(event);
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        on_init_done();
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        verdict();
        break;
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    snprintf(mode, sizeof mode, "%s", options ? options : "");
    if (begin(vm, is_mode("silent") ? NULL : notify) != JNI_OK) {
        return JNI_ERR;
    }
    held_by_ended = CALL(RawMonitorCreate)("judge-held-by-ended");
    held_by_main = CALL(RawMonitorCreate)("judge-held-by-main");
    enable(JVMPI_EVENT_JVM_INIT_DONE);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    if (is_mode("collecting") || is_mode("silent")) {
        enable(JVMPI_EVENT_GC_START);
        enable(JVMPI_EVENT_GC_FINISH);
        enable(JVMPI_EVENT_OBJECT_FREE);
    }
    if (is_mode("recursive") || is_mode("leaving") || is_mode("crashing") || is_mode("silent")) {
        enable(JVMPI_EVENT_CLASS_LOAD);
        enable(JVMPI_EVENT_METHOD_ENTRY);
    }
    if (is_mode("helping")) {
        CALL(ProfilerExit)(5);
    }
    return is_mode("refuse") ? JNI_ERR : is_mode("odd") ? 4711 : JNI_OK;
}
