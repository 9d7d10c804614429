/*
 * A profiler that disables the events of methods while the program runs, and enables them again. Methods must have their
 * own bytecode while the events are disabled, so that these cost nothing. No event comes meanwhile, and the lines of
 * stack traces stay right, also when another agent changes them.
 *
 * Options: beside is for a run beside another profiler, which keeps the events enabled.
 */
#define _GNU_SOURCE /* memmem */
#include <jvmti.h>

#include "classes.h"

static const char *const judge = "toggling";

enum { LEAF_LENGTH = 4 }; /* iload_0, iconst_1, iadd, ireturn */

static jvmtiEnv *jvmti;
static JNIEnv *main_thread;
static jmethodID leaf;
static unsigned char leaf_before[1024];
static int is_alone, is_off, is_on_again, depth, worker_calls, steps;
static volatile int has_enabled_too;

/* Copies the bytecode that the VM runs for Judged.leaf. Returns its length. */
static int leaf_code(unsigned char *copy) {
    jint length = 0;
    unsigned char *bytes = NULL;
    jvmtiError error = (*jvmti)->GetBytecodes(jvmti, leaf, &length, &bytes);
    if (error != JVMTI_ERROR_NONE || length > (int)sizeof leaf_before) {
        complain("GetBytecodes of Judged.leaf: error %d, %d bytes", error, length);
        return 0;
    }
    memcpy(copy, bytes, length);
    (*jvmti)->Deallocate(jvmti, bytes);
    return length;
}

static int leaf_length(void) {
    unsigned char code[sizeof leaf_before];
    return leaf_code(code);
}

static void switch_off(void) {
    EXPECT(leaf_code(leaf_before) > LEAF_LENGTH, "Judged.leaf has no probes");
    is_off = 1;
    CALL(DisableEvent)(JVMPI_EVENT_METHOD_ENTRY, NULL);
    EXPECT(leaf_length() > LEAF_LENGTH, "Judged.leaf has no probes while METHOD_EXIT is enabled");
    CALL(DisableEvent)(JVMPI_EVENT_METHOD_EXIT, NULL);
    EXPECT(!is_alone || leaf_length() == LEAF_LENGTH,
           "Judged.leaf has %d bytes while no event of methods is enabled", leaf_length());
}

/*
 * Waits up to a minute for the probes of Judged.leaf, and returns true if they are there. EnableEvent returns without
 * them if another thread inserts them and makes no progress for a second, as on a busy machine.
 */
static int gets_probes(void) {
    for (int i = 0; i < 6000 && leaf_length() <= LEAF_LENGTH; i++) {
        usleep(10000);
    }
    return leaf_length() > LEAF_LENGTH;
}

/* Enables METHOD_ENTRY while the main thread enables it, too. */
static void enable_too(void *nothing) {
    (void)nothing;
    enable(JVMPI_EVENT_METHOD_ENTRY);
    EXPECT(gets_probes(), "Judged.leaf has no probes after EnableEvent in a second thread");
    has_enabled_too = 1;
}

static void switch_on(void) {
    is_off = 0;
    is_on_again = 1;
    jint created = CALL(CreateSystemThread)("judge-enabler", JVMPI_NORMAL_PRIORITY, enable_too);
    EXPECT(created == JNI_OK, "CreateSystemThread returned %d", created);
    enable(JVMPI_EVENT_METHOD_ENTRY);
    enable(JVMPI_EVENT_METHOD_EXIT);
    EXPECT(gets_probes(), "Judged.leaf has no probes after the events are enabled again");
    unsigned char code[sizeof leaf_before];
    int length = leaf_code(code);
    EXPECT(memcmp(code, leaf_before, length) == 0, "Judged.leaf has other probes than before");
    for (int i = 0; i < 120000 && !has_enabled_too; i++) {
        usleep(1000);
    }
    EXPECT(has_enabled_too, "the second thread does not come back from EnableEvent");
}

static void JNICALL hide_lines(jvmtiEnv *env, JNIEnv *jni, jclass class, jobject loader, const char *name,
                               jobject domain, jint length, const unsigned char *bytes, jint *new_length,
                               unsigned char **new_bytes) {
    (void)jni, (void)loader, (void)domain;
    unsigned char *copy = NULL;
    if (!class || !name || strcmp(name, "Judged") != 0 || (*env)->Allocate(env, length, &copy) != JVMTI_ERROR_NONE) {
        return;
    }
    memcpy(copy, bytes, length);
    unsigned char *attribute = memmem(copy, length, "LineNumberTable", strlen("LineNumberTable"));
    EXPECT(attribute, "Judged has no line numbers");
    if (attribute) {
        *attribute = 'X'; /* no attribute that the JVM knows */
    }
    *new_length = length;
    *new_bytes = copy;
}

/* Retransforms Judged, as another agent may do it. */
static void retransform_judged(jvmtiEventMode hides_lines) {
    jclass judged = (*main_thread)->FindClass(main_thread, "Judged");
    (*jvmti)->SetEventNotificationMode(jvmti, hides_lines, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, NULL);
    jvmtiError error = judged ? (*jvmti)->RetransformClasses(jvmti, 1, &judged) : JVMTI_ERROR_INVALID_CLASS;
    EXPECT(error == JVMTI_ERROR_NONE, "RetransformClasses of Judged: error %d", error);
    (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_DISABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, NULL);
    (*main_thread)->DeleteLocalRef(main_thread, judged);
}

/* The line of the call of Judged.step in a trace. */
static int line_of_step(void) {
    JVMPI_CallFrame frames[8];
    JVMPI_CallTrace trace = {main_thread, 0, frames};
    CALL(GetCallTrace)(&trace, 8);
    for (int i = 0; i < trace.num_frames; i++) {
        Method *method = known_method(frames[i].method_id);
        if (method && strcmp(method->name, "Judged.step") == 0) {
            return frames[i].lineno;
        }
    }
    complain("Judged.step is not in the trace of the main thread");
    return 0;
}

/*
 * Traces have the lines of the present code, although no event of methods is enabled. Judged.step was called since;
 * Judged.main still runs the code with probes, which keeps its lines.
 */
static void change_lines(void) {
    int before = line_of_step();
    EXPECT(before > 0, "Judged.step is at line %d", before);
    retransform_judged(JVMTI_ENABLE);
    int without = line_of_step();
    EXPECT(without == -1, "Judged.step is at line %d although another agent took the lines away", without);
    retransform_judged(JVMTI_DISABLE);
    int after = line_of_step();
    EXPECT(after == before, "Judged.step is at line %d, and before the change at line %d", after, before);
}

/* Checks the line of Judged.step, which is loading a class. */
static void on_step(int line) {
    JVMPI_CallFrame frames[4];
    JVMPI_CallTrace trace = {main_thread, 0, frames};
    CALL(GetCallTrace)(&trace, 4);
    for (int i = 0; i < trace.num_frames; i++) {
        Method *method = known_method(frames[i].method_id);
        if (method && strcmp(method->name, "Judged.step") == 0) {
            int found = frames[i].lineno - method->first_line;
            EXPECT(found == line, "Judged.step is at line %d of the method, but at %d in a trace", line, found);
            steps++;
            return;
        }
    }
    complain("Judged.step is not in the trace of the class that it loads");
}

/* Between the loads of these two classes, the program calls constructors and fails by a stack overflow. */
static void on_load(JVMPI_Event *event) {
    on_class_load(event);
    const char *name = event->u.class_load.class_name;
    if (strcmp(name, "Judged") == 0) {
        main_thread = event->env_id;
        for (int i = 0; i < event->u.class_load.num_methods; i++) {
            if (strcmp(event->u.class_load.methods[i].method_name, "leaf") == 0) {
                leaf = event->u.class_load.methods[i].method_id;
            }
        }
    } else if (strcmp(name, "Judged$Before") == 0) {
        on_step(1);
    } else if (strcmp(name, "Judged$Between") == 0) {
        on_step(3);
        change_lines();
    } else if (strcmp(name, "Judged$After") == 0) {
        on_step(5);
    } else if (strcmp(name, "Judged$Failing") == 0) {
        switch_off();
    } else if (strcmp(name, "Judged$Worker") == 0) {
        switch_on();
    }
}

static void on_method(JVMPI_Event *event) {
    Method *method = known_method(event->u.method.method_id);
    int is_entry = event->event_type == JVMPI_EVENT_METHOD_ENTRY;
    if (is_entry && method && strcmp(method->name, "Judged$Worker.work") == 0) {
        __sync_fetch_and_add(&worker_calls, 1);
    }
    if (event->env_id == main_thread && main_thread) {
        EXPECT(!is_off, "event %d while it is disabled", event->event_type);
        if (is_on_again) {
            depth += is_entry ? 1 : -1;
            EXPECT(depth >= 0, "METHOD_EXIT of %s, which was entered before the events began again",
                   method ? method->name : "?");
        }
    }
}

static void notify(JVMPI_Event *event) {
    switch (event->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
        on_load(event);
        break;
    case JVMPI_EVENT_METHOD_ENTRY:
    case JVMPI_EVENT_METHOD_EXIT:
        on_method(event);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        EXPECT(steps == 3, "%d steps instead of 3", steps);
        say("edge Judged$Worker.run > Judged$Worker.work %d", worker_calls);
        verdict();
        break;
    default:
        complain("event %d is not enabled", event->event_type);
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    is_alone = !options || !strstr(options, "beside");
    jvmtiCapabilities capabilities = {.can_get_bytecodes = 1, .can_retransform_classes = 1};
    jvmtiEventCallbacks callbacks = {.ClassFileLoadHook = hide_lines};
    if (begin(vm, notify) != JNI_OK || (*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK ||
        (*jvmti)->AddCapabilities(jvmti, &capabilities) != JVMTI_ERROR_NONE ||
        (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks) != JVMTI_ERROR_NONE) {
        return JNI_ERR;
    }
    enable(JVMPI_EVENT_CLASS_LOAD);
    enable(JVMPI_EVENT_METHOD_ENTRY);
    enable(JVMPI_EVENT_METHOD_EXIT);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    return JNI_OK;
}
