/*
 * A profiler of call graphs: METHOD_ENTRY (or ENTRY2) and METHOD_EXIT must pair on each thread, and every method and
 * thread must have been defined before. Prints the number of calls on each edge of the program.
 *
 * Options: entry2 uses METHOD_ENTRY2; ask does not enable CLASS_LOAD, but requests the class of each unknown method.
 */
#include "calls.h"

static const char *const judge = "callgraph";

static volatile int is_over;
static int thread_count, worker_count, contender_count;

static void on_start(JVMPI_Event *event) {
    begin_stack(event);
    thread_count++;
    if (event->u.thread_start.thread_name) {
        worker_count += strncmp(event->u.thread_start.thread_name, "worker-", 7) == 0;
        contender_count += strcmp(event->u.thread_start.thread_name, "contender") == 0;
    }
}

static void on_shut_down(void) {
    print_edges();
    total("threads", thread_count);
    total("threads-worker", worker_count);
    total("threads-contender", contender_count);
    total("requested-classes", requested_classes);
    verdict();
}

static void notify(JVMPI_Event *event) {
    if (is_over) {
        return; /* threads go on while one event after the other is disabled */
    }
    switch (event->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
    case JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT:
        on_class_load(event);
        break;
    case JVMPI_EVENT_THREAD_START:
        on_start(event);
        break;
    case JVMPI_EVENT_THREAD_END:
        end_stack(event);
        break;
    case JVMPI_EVENT_METHOD_ENTRY:
    case JVMPI_EVENT_METHOD_ENTRY2:
        on_entry(event);
        break;
    case JVMPI_EVENT_METHOD_EXIT:
        on_exit_of_method(event);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        is_over = 1;
        CALL(DisableEvent)(JVMPI_EVENT_METHOD_ENTRY, NULL);
        CALL(DisableEvent)(JVMPI_EVENT_METHOD_ENTRY2, NULL);
        CALL(DisableEvent)(JVMPI_EVENT_METHOD_EXIT, NULL);
        on_shut_down();
        break;
    default:
        complain("event %d is not enabled", event->event_type);
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    if (begin(vm, notify) != JNI_OK) {
        return JNI_ERR;
    }
    asks = options && strstr(options, "ask");
    if (!asks) {
        enable(JVMPI_EVENT_CLASS_LOAD);
    }
    enable(JVMPI_EVENT_THREAD_START);
    enable(JVMPI_EVENT_THREAD_END);
    enable(options && strstr(options, "entry2") ? JVMPI_EVENT_METHOD_ENTRY2 : JVMPI_EVENT_METHOD_ENTRY);
    enable(JVMPI_EVENT_METHOD_EXIT);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    return JNI_OK;
}
