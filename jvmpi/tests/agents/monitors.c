/*
 * A profiler of monitors: contended enters, entereds and exits pair on each thread, waits and waiteds pair, raw monitors
 * work and report contention by name, and monitor dumps are walked to their last byte.
 *
 * Options: marker=FILE makes a monitor dump at DATA_DUMP_REQUEST, and creates the file after that.
 */
#include <fcntl.h>

#include "classes.h"
#include "reader.h"

static const char *const judge = "monitors";

/* The state of a thread, in its thread-local storage. */
typedef struct {
    jobjectID entering, waiting;
    JVMPI_RawMonitor entering_raw;
    int is_waiting, is_sleeping;
} State;

static char marker[512];
static int contended, exits, waits, sleeps, other_contended, other_waits, raw_enters, raw_entereds, raw_exits, dumps;
static int held_monitors, blocked_in_dump;
static Table locks; /* from objects to their class */
static JVMPI_RawMonitor hot, hidden, notified, gate;
static volatile int is_held, hot_is_contended, is_notified, hidden_is_wanted, helpers_done;

static State *state_of(JNIEnv *env) {
    State *state = CALL(GetThreadLocalStorage)(env);
    if (!state) {
        state = calloc(1, sizeof *state);
        CALL(SetThreadLocalStorage)(env, state);
    }
    return state;
}

/* Returns the class of an object, which it learns by a requested OBJECT_ALLOC. */
static const char *class_name(jobjectID object) {
    lock();
    Class *class = get(&locks, object);
    unlock();
    if (!class) {
        jint result = CALL(RequestEvent)(JVMPI_EVENT_OBJECT_ALLOC, object);
        EXPECT(result == JVMPI_SUCCESS, "RequestEvent(OBJECT_ALLOC) of a monitor's object returned %d", result);
        lock();
        class = get(&locks, object);
        unlock();
    }
    return class ? class->name : "";
}

static void on_alloc(JVMPI_Event *event) {
    jobjectID class_id = event->u.obj_alloc.class_id;
    if (class_id) {
        Class *class = class_of(class_id, "OBJECT_ALLOC");
        lock();
        put(&locks, event->u.obj_alloc.obj_id, class);
        unlock();
    }
}

static void on_monitor(JVMPI_Event *event) {
    jobjectID object = event->u.monitor.object;
    State *state = state_of(event->env_id);
    EXPECT(known_thread(event->env_id), "event %d in an unknown thread", event->event_type);
    if (!object) {
        complain("event %d without object", event->event_type);
        return;
    }
    int is_lock = strcmp(class_name(object), "Judged$Lock") == 0;
    switch (event->event_type) {
    case JVMPI_EVENT_MONITOR_CONTENDED_ENTER:
        EXPECT(!state->entering, "MONITOR_CONTENDED_ENTER of two monitors in one thread");
        state->entering = object;
        __sync_fetch_and_add(is_lock ? &contended : &other_contended, 1);
        break;
    case JVMPI_EVENT_MONITOR_CONTENDED_ENTERED:
        EXPECT(state->entering == object, "MONITOR_CONTENDED_ENTERED without _ENTER of this object");
        state->entering = NULL;
        break;
    default:
        EXPECT(!state->entering, "MONITOR_CONTENDED_EXIT in a thread that waits to enter");
        __sync_fetch_and_add(&exits, is_lock);
    }
}

static void on_wait(JVMPI_Event *event) {
    jobjectID object = event->u.monitor_wait.object;
    State *state = state_of(event->env_id);
    EXPECT(event->u.monitor_wait.timeout >= 0, "a timeout of %lld", (long long)event->u.monitor_wait.timeout);
    if (event->event_type == JVMPI_EVENT_MONITOR_WAITED) {
        EXPECT(state->is_waiting && state->waiting == object, "MONITOR_WAITED without MONITOR_WAIT of this object");
        state->is_waiting = 0;
        return;
    }
    EXPECT(!state->is_waiting, "MONITOR_WAIT twice in one thread");
    state->is_waiting = 1;
    state->waiting = object;
    Thread *thread = known_thread(event->env_id);
    if (!object) {
        sleeps += thread && strcmp(thread->name, "waiter") == 0;
    } else if (strcmp(class_name(object), "Judged$Condition") == 0) {
        waits++;
    } else {
        __sync_fetch_and_add(&other_waits, 1);
    }
}

static void on_raw_monitor(JVMPI_Event *event) {
    JVMPI_RawMonitor id = event->u.raw_monitor.id;
    const char *name = event->u.raw_monitor.name;
    State *state = state_of(event->env_id);
    if (!id || !name) {
        complain("event %d without id or name", event->event_type);
        return;
    }
    EXPECT(name[0] != '_', "event %d of the monitor %s, whose name begins with _", event->event_type, name);
    EXPECT(id != hot || strcmp(name, "judge-hot") == 0, "the monitor judge-hot is called %s", name);
    switch (event->event_type) {
    case JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER:
        EXPECT(!state->entering_raw, "RAW_MONITOR_CONTENDED_ENTER of two monitors in one thread");
        state->entering_raw = id;
        if (id == hot) {
            raw_enters++;
            hot_is_contended = 1;
        }
        break;
    case JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED:
        EXPECT(state->entering_raw == id, "RAW_MONITOR_CONTENDED_ENTERED without _ENTER of this monitor");
        state->entering_raw = NULL;
        raw_entereds += id == hot;
        break;
    default:
        raw_exits += id == hot;
    }
}

static uint32_t waiting_threads(Reader *reader, const char *what) {
    uint32_t count = number(reader, 4);
    for (uint32_t i = 0; i < count && reader->at < reader->end; i++) {
        EXPECT(known_thread(pointer(reader)), "MONITOR_DUMP: an unknown thread is %s", what);
    }
    return count;
}

static void on_dump(JVMPI_Event *event) {
    Reader reader = reader_of("MONITOR_DUMP", event->u.monitor_dump.begin, event->u.monitor_dump.end);
    dumps++;
    while (reader.at < reader.end) {
        int kind = number(&reader, 1);
        int is_lock = 0;
        if (kind == JVMPI_MONITOR_JAVA) {
            is_lock = strcmp(class_name(pointer(&reader)), "Judged$Lock") == 0;
        } else if (kind == JVMPI_MONITOR_RAW) {
            const char *name = pointer(&reader);
            JVMPI_RawMonitor id = pointer(&reader);
            EXPECT(name && *name && id, "MONITOR_DUMP: a raw monitor without name or id");
        } else {
            complain("MONITOR_DUMP: a monitor of kind %d", kind);
            return;
        }
        JNIEnv *owner = pointer(&reader);
        uint32_t entries = number(&reader, 4);
        EXPECT(!owner || known_thread(owner), "MONITOR_DUMP: the owner of a monitor is unknown");
        EXPECT((owner != NULL) == (entries > 0) || kind == JVMPI_MONITOR_RAW, "MONITOR_DUMP: owner %p, entered %u times",
               (void *)owner, entries);
        uint32_t entering = waiting_threads(&reader, "waiting to enter");
        waiting_threads(&reader, "waiting to be notified");
        if (is_lock && entering) {
            Thread *thread = owner ? known_thread(owner) : NULL;
            EXPECT(thread && strcmp(thread->name, "main") == 0, "MONITOR_DUMP: main does not own the lock");
            held_monitors++;
            blocked_in_dump += entering;
        }
    }
    EXPECT(event->u.monitor_dump.num_traces > 0 && event->u.monitor_dump.traces && event->u.monitor_dump.threads_status,
           "MONITOR_DUMP without traces or states");
    for (int i = 0; i < event->u.monitor_dump.num_traces; i++) {
        JVMPI_CallTrace *trace = &event->u.monitor_dump.traces[i];
        jint status = event->u.monitor_dump.threads_status[i] & ~(JVMPI_THREAD_SUSPENDED | JVMPI_THREAD_INTERRUPTED);
        EXPECT(known_thread(trace->env_id), "MONITOR_DUMP: a trace of an unknown thread");
        EXPECT(status >= JVMPI_THREAD_RUNNABLE && status <= JVMPI_THREAD_CONDVAR_WAIT, "MONITOR_DUMP: status %d", status);
        check_trace(trace, "MONITOR_DUMP");
    }
}

static void dump(void) {
    jint result = CALL(RequestEvent)(JVMPI_EVENT_MONITOR_DUMP, NULL);
    EXPECT(result == JVMPI_SUCCESS, "RequestEvent(MONITOR_DUMP) returned %d", result);
}

/* Waits up to ten seconds for a flag, by waiting in a raw monitor. */
static void await(volatile int *flag, const char *what) {
    CALL(RawMonitorEnter)(gate);
    for (int i = 0; i < 1000 && !*flag; i++) {
        CALL(RawMonitorWait)(gate, 10);
    }
    CALL(RawMonitorExit)(gate);
    EXPECT(*flag, "waited in vain for %s", what);
}

/* Enters the monitors that `holder` holds, and notifies it. */
static void helper(void *nothing) {
    (void)nothing;
    await(&is_held, "the holder of judge-hot");
    CALL(RawMonitorEnter)(hot);
    CALL(RawMonitorEnter)(hot);
    CALL(RawMonitorExit)(hot);
    CALL(RawMonitorExit)(hot);
    CALL(RawMonitorEnter)(notified);
    is_notified = 1;
    CALL(RawMonitorNotifyAll)(notified);
    CALL(RawMonitorExit)(notified);
    hidden_is_wanted = 1;
    CALL(RawMonitorEnter)(hidden);
    CALL(RawMonitorExit)(hidden);
    __sync_fetch_and_add(&helpers_done, 1);
}

static void holder(void *nothing) {
    (void)nothing;
    CALL(RawMonitorEnter)(hidden);
    CALL(RawMonitorEnter)(hot);
    is_held = 1;
    await(&hot_is_contended, "RAW_MONITOR_CONTENDED_ENTER of judge-hot");
    CALL(RawMonitorExit)(hot);
    CALL(RawMonitorEnter)(notified);
    while (!is_notified) {
        CALL(RawMonitorWait)(notified, 0);
    }
    CALL(RawMonitorWait)(notified, 5);
    CALL(RawMonitorExit)(notified);
    await(&hidden_is_wanted, "the helper");
    CALL(RawMonitorExit)(hidden);
    __sync_fetch_and_add(&helpers_done, 1);
}

static void on_data_dump(void) {
    dump();
    if (*marker) {
        int file = open(marker, O_CREAT | O_WRONLY, 0600);
        EXPECT(file >= 0, "cannot create %s", marker);
        close(file);
    }
}

static void on_shut_down(void) {
    CALL(RawMonitorEnter)(gate);
    for (int i = 0; i < 1000 && helpers_done < 2; i++) {
        CALL(RawMonitorWait)(gate, 10);
    }
    CALL(RawMonitorExit)(gate);
    EXPECT(helpers_done == 2, "the threads of the judge do not end");
    dump();
    EXPECT(raw_enters == 1 && raw_entereds == 1 && raw_exits == 1,
           "judge-hot: %d contended enters, %d entereds, %d exits, but 1 of each", raw_enters, raw_entereds, raw_exits);
    CALL(RawMonitorDestroy)(hidden);
    EXPECT(!*marker || (dumps == 2 && held_monitors == 1 && blocked_in_dump == 1),
           "%d dumps with %d held locks and %d threads that wait for them", dumps, held_monitors, blocked_in_dump);
    /* An exit is lost if the VM cannot say any more which thread has left the monitor. */
    EXPECT(!runs_the_tests_program() || (exits > 0 && exits <= contended), "%d exits of contended monitors, %d enters", exits, contended);
    total("contended", contended);
    total("exits", exits);
    total("waits", waits);
    total("sleeps", sleeps);
    total("other-contended", other_contended);
    total("other-waits", other_waits);
    verdict();
}

static void notify(JVMPI_Event *event) {
    switch (event->event_type & ~JVMPI_REQUESTED_EVENT) {
    case JVMPI_EVENT_CLASS_LOAD:
        on_class_load(event);
        break;
    case JVMPI_EVENT_THREAD_START:
        on_thread_start(event);
        break;
    case JVMPI_EVENT_THREAD_END:
        on_thread_end(event);
        break;
    case JVMPI_EVENT_OBJECT_ALLOC:
        on_alloc(event);
        break;
    case JVMPI_EVENT_MONITOR_CONTENDED_ENTER:
    case JVMPI_EVENT_MONITOR_CONTENDED_ENTERED:
    case JVMPI_EVENT_MONITOR_CONTENDED_EXIT:
        on_monitor(event);
        break;
    case JVMPI_EVENT_MONITOR_WAIT:
    case JVMPI_EVENT_MONITOR_WAITED:
        on_wait(event);
        break;
    case JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER:
    case JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED:
    case JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT:
        on_raw_monitor(event);
        break;
    case JVMPI_EVENT_MONITOR_DUMP:
        on_dump(event);
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        EXPECT(CALL(CreateSystemThread)("judge-holder", JVMPI_NORMAL_PRIORITY, holder) == JNI_OK, "CreateSystemThread");
        EXPECT(CALL(CreateSystemThread)("judge-helper", JVMPI_NORMAL_PRIORITY, helper) == JNI_OK, "CreateSystemThread");
        break;
    case JVMPI_EVENT_DATA_DUMP_REQUEST:
        on_data_dump();
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
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
    if (options && strncmp(options, "marker=", 7) == 0) {
        snprintf(marker, sizeof marker, "%s", options + 7);
    }
    hot = CALL(RawMonitorCreate)("judge-hot");
    hidden = CALL(RawMonitorCreate)("_judge-hidden");
    notified = CALL(RawMonitorCreate)("judge-notified");
    gate = CALL(RawMonitorCreate)("_judge-gate");
    const jint events[] = {
        JVMPI_EVENT_CLASS_LOAD,
        JVMPI_EVENT_THREAD_START,
        JVMPI_EVENT_THREAD_END,
        JVMPI_EVENT_JVM_INIT_DONE,
        JVMPI_EVENT_JVM_SHUT_DOWN,
        JVMPI_EVENT_DATA_DUMP_REQUEST,
        JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTER,
        JVMPI_EVENT_RAW_MONITOR_CONTENDED_ENTERED,
        JVMPI_EVENT_RAW_MONITOR_CONTENDED_EXIT,
        JVMPI_EVENT_MONITOR_CONTENDED_ENTER,
        JVMPI_EVENT_MONITOR_CONTENDED_ENTERED,
        JVMPI_EVENT_MONITOR_CONTENDED_EXIT,
        JVMPI_EVENT_MONITOR_WAIT,
        JVMPI_EVENT_MONITOR_WAITED,
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        enable(events[i]);
    }
    return JNI_OK;
}
