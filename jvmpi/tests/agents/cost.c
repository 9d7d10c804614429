/*
 * The agents of the bench `method_events`: a profiler that only counts METHOD_ENTRY and METHOD_EXIT, one for JVM TI that does
 * the same, and the native methods of the program, which count too.
 *
 * Options of the profiler: off disables the events when the VM is initialised.
 */
#include <jvmti.h>

#include "judge.h"

static const char *const judge = "cost";

static volatile long count;
static int is_off;

/* Not inlined, so that an entry or exit does not save the registers that these events need. */
static __attribute__((noinline)) void once(JVMPI_Event *event) {
    switch (event->event_type) {
    case JVMPI_EVENT_JVM_INIT_DONE:
        if (is_off) {
            CALL(DisableEvent)(JVMPI_EVENT_METHOD_ENTRY, NULL);
            CALL(DisableEvent)(JVMPI_EVENT_METHOD_EXIT, NULL);
        }
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        total("events", count);
        verdict();
        break;
    }
}

static void notify(JVMPI_Event *event) {
    if (event->event_type == JVMPI_EVENT_METHOD_ENTRY || event->event_type == JVMPI_EVENT_METHOD_EXIT) {
        count++;
    } else {
        once(event);
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    if (begin(vm, notify) != JNI_OK) {
        return JNI_ERR;
    }
    is_off = options && strstr(options, "off");
    enable(JVMPI_EVENT_JVM_INIT_DONE);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    enable(JVMPI_EVENT_METHOD_ENTRY);
    enable(JVMPI_EVENT_METHOD_EXIT);
    return JNI_OK;
}

static void JNICALL method_entry(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jmethodID method) {
    (void)jvmti, (void)env, (void)thread, (void)method;
    count++;
}

static void JNICALL method_exit(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jmethodID method, jboolean by_exception,
                                jvalue value) {
    (void)jvmti, (void)env, (void)thread, (void)method, (void)by_exception, (void)value;
    count++;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)options;
    (void)reserved;
    jvmtiEnv *jvmti = NULL;
    jvmtiCapabilities capabilities = {.can_generate_method_entry_events = 1, .can_generate_method_exit_events = 1};
    jvmtiEventCallbacks callbacks = {.MethodEntry = method_entry, .MethodExit = method_exit};
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK ||
        (*jvmti)->AddCapabilities(jvmti, &capabilities) || (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks)) {
        return JNI_ERR;
    }
    (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_METHOD_ENTRY, NULL);
    (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_METHOD_EXIT, NULL);
    return JNI_OK;
}

JNIEXPORT void JNICALL Java_MethodCost_enter(JNIEnv *env, jclass class, jint number) {
    (void)env, (void)class, (void)number;
    count++;
}

JNIEXPORT void JNICALL Java_MethodCost_exit(JNIEnv *env, jclass class, jint number) {
    (void)env, (void)class, (void)number;
    count++;
}
