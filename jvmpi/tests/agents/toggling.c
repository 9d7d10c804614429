/*
 * A profiler that disables the events of methods while the program runs, and enables them again. Methods must have their
 * own bytecode while the events are disabled, so that these cost nothing. No event comes meanwhile.
 */
#include <jvmti.h>

#include "classes.h"

static const char *const judge = "toggling";

enum { LEAF_LENGTH = 4 }; /* iload_0, iconst_1, iadd, ireturn */

static jvmtiEnv *jvmti;
static JNIEnv *main_thread;
static jmethodID leaf;
static int is_off, is_on_again, depth, worker_calls;

/* The length of the bytecode that the VM runs for Judged.leaf. */
static int leaf_length(void) {
    jint length = 0;
    unsigned char *bytes = NULL;
    EXPECT((*jvmti)->GetBytecodes(jvmti, leaf, &length, &bytes) == JVMTI_ERROR_NONE, "GetBytecodes");
    (*jvmti)->Deallocate(jvmti, bytes);
    return length;
}

static void switch_off(void) {
    EXPECT(leaf_length() > LEAF_LENGTH, "Judged.leaf has no probes");
    is_off = 1;
    CALL(DisableEvent)(JVMPI_EVENT_METHOD_ENTRY, NULL);
    EXPECT(leaf_length() > LEAF_LENGTH, "Judged.leaf has no probes while METHOD_EXIT is enabled");
    CALL(DisableEvent)(JVMPI_EVENT_METHOD_EXIT, NULL);
    EXPECT(leaf_length() == LEAF_LENGTH, "Judged.leaf has %d bytes while no event of methods is enabled", leaf_length());
}

static void switch_on(void) {
    is_off = 0;
    is_on_again = 1;
    enable(JVMPI_EVENT_METHOD_ENTRY);
    enable(JVMPI_EVENT_METHOD_EXIT);
    EXPECT(leaf_length() > LEAF_LENGTH, "Judged.leaf has no probes after the events are enabled again");
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
        say("edge Judged$Worker.run > Judged$Worker.work %d", worker_calls);
        verdict();
        break;
    default:
        complain("event %d is not enabled", event->event_type);
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)options;
    (void)reserved;
    jvmtiCapabilities capabilities = {.can_get_bytecodes = 1};
    if (begin(vm, notify) != JNI_OK || (*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK ||
        (*jvmti)->AddCapabilities(jvmti, &capabilities) != JVMTI_ERROR_NONE) {
        return JNI_ERR;
    }
    enable(JVMPI_EVENT_CLASS_LOAD);
    enable(JVMPI_EVENT_METHOD_ENTRY);
    enable(JVMPI_EVENT_METHOD_EXIT);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    return JNI_OK;
}
