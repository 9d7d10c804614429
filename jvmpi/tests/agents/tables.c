/*
 * A profiler that makes the tables of the first HPROF, as that one made them through JVMPI. It prints each row, for
 * comparison with the tables that Loadhook's own agent makes in the same run (`beside_our_profile.rs`).
 *
 * The option has the names of the tables: sites, dump, samples, times, monitors.
 *
 * A row is printed with tabs between its parts: the table, the class of the objects, the trace, and the numbers. A
 * trace has the innermost method first, as Class.method:line. The numbers are:
 *
 * sites     objects, bytes, live objects, live bytes
 * dump      objects
 * samples   samples
 * times     calls, nanoseconds of processor time, without the methods called
 * monitors  contended enters, nanoseconds of waiting
 * waits     calls of Object.wait
 */
#include <time.h>

#include "classes.h"
#include "reader.h"

static const char *const judge = "tables";

enum { DEPTH = 4, PERIOD_US = 4000, MOST_THREADS = 64, NUMBERS = 4 };

typedef struct {
    Class *class; /* of the objects, or of the elements of an array; NULL in tables of methods */
    jint kind;    /* as in OBJECT_ALLOC */
    int depth;
    JVMPI_CallFrame frames[DEPTH];
    long numbers[NUMBERS];
} Row;

typedef struct {
    Row *row;
    Class *class;
    jint size;
} Object;

/* A call that has not ended. */
typedef struct {
    jmethodID method;
    jlong began, inside; /* nanoseconds; inside: of the calls that it made */
} Call;

/* The state of a thread, in its thread-local storage. */
typedef struct {
    Call *calls;
    int depth, capacity;
    Row *entering; /* the row of a monitor that the thread waits to enter */
    jlong began;
} State;

static Table sites, dumped, samples, times, monitors, waits; /* from hashes to rows */
static Table objects;
static int has_sites, has_dump, has_samples, has_times, has_monitors;
static volatile int is_over, sampler_ended;
static JavaVM *java_vm;

static uint64_t hash(uint64_t before, uint64_t value) {
    uint64_t mixed = (before ^ value) * 0x9E3779B97F4A7C15u;
    return mixed ^ mixed >> 29;
}

/* Returns the row of a table, for callers that hold the lock. */
static Row *row_of(Table *table, Class *class, jint kind, const JVMPI_CallTrace *trace) {
    int depth = trace && trace->num_frames > 0 ? trace->num_frames : 0;
    uint64_t key = hash(hash(depth, (uintptr_t)class), kind);
    for (int i = 0; i < depth; i++) {
        key = hash(hash(key, (uintptr_t)trace->frames[i].method_id), trace->frames[i].lineno);
    }
    Row *row = get(table, (void *)(uintptr_t)key);
    if (!row) {
        row = calloc(1, sizeof *row);
        *row = (Row){.class = class, .kind = kind, .depth = depth};
        if (depth) {
            memcpy(row->frames, trace->frames, depth * sizeof *row->frames);
        }
        put(table, (void *)(uintptr_t)key, row);
    }
    return row;
}

static State *state_of(JNIEnv *env) {
    State *state = CALL(GetThreadLocalStorage)(env);
    if (!state) {
        state = calloc(1, sizeof *state);
        CALL(SetThreadLocalStorage)(env, state);
    }
    return state;
}

/* heap=sites */

static void on_alloc(JVMPI_Event *event) {
    jobjectID class_id = event->u.obj_alloc.class_id;
    Class *class = class_id ? class_of(class_id, "OBJECT_ALLOC") : NULL;
    JVMPI_CallFrame frames[DEPTH];
    JVMPI_CallTrace trace = {event->env_id, 0, frames};
    if (has_sites && event->env_id && !(event->event_type & JVMPI_REQUESTED_EVENT)) {
        CALL(GetCallTrace)(&trace, DEPTH);
    }
    jint size = event->u.obj_alloc.size;
    lock();
    Object *object = get(&objects, event->u.obj_alloc.obj_id);
    if (!object) {
        object = calloc(1, sizeof *object);
        *object = (Object){row_of(&sites, class, event->u.obj_alloc.is_array, &trace), class, size};
        put(&objects, event->u.obj_alloc.obj_id, object);
        object->row->numbers[0]++;
        object->row->numbers[1] += size;
        object->row->numbers[2]++;
        object->row->numbers[3] += size;
    }
    unlock();
}

static void on_free(JVMPI_Event *event) {
    Object *object = take(&objects, event->u.obj_free.obj_id);
    if (object) {
        object->row->numbers[2]--;
        object->row->numbers[3] -= object->size;
        free(object);
    }
}

/* Returns the class of an object, which it learns by a requested OBJECT_ALLOC. */
static Class *class_of_object(jobjectID id) {
    lock();
    Object *object = get(&objects, id);
    unlock();
    if (!object) {
        jint result = CALL(RequestEvent)(JVMPI_EVENT_OBJECT_ALLOC, id);
        EXPECT(result == JVMPI_SUCCESS, "RequestEvent(OBJECT_ALLOC) of a monitor's object returned %d", result);
        lock();
        object = get(&objects, id);
        unlock();
    }
    return object ? object->class : NULL;
}

/* heap=dump */

static void count_dumped(Class *class, jint kind) {
    row_of(&dumped, class, kind, NULL)->numbers[0]++;
}

/* Reads values of these types, a letter each. */
static void skip_values(Reader *reader, const char *types) {
    for (; *types; types++) {
        bytes(reader, strchr("L[JD", *types) ? 8 : strchr("IF", *types) ? 4 : strchr("CS", *types) ? 2 : 1);
    }
}

static int bytes_of(jint kind) {
    return kind == JVMPI_LONG || kind == JVMPI_DOUBLE || kind == JVMPI_CLASS ? 8
           : kind == JVMPI_INT || kind == JVMPI_FLOAT                        ? 4
           : kind == JVMPI_CHAR || kind == JVMPI_SHORT                       ? 2
                                                                             : 1;
}

static void class_dump(Reader *reader) {
    Class *class = class_of(pointer(reader), "CLASS_DUMP");
    bytes(reader, 6 * sizeof(void *) + 4); /* super, loader, signers, domain, name, reserved; size */
    bytes(reader, class ? class->interfaces * sizeof(void *) : 0);
    for (unsigned constants = number(reader, 2); constants > 0; constants--) {
        number(reader, 2);
        bytes(reader, bytes_of(number(reader, 1)));
    }
    skip_values(reader, class ? class->statics : "");
}

static void record(Reader *reader) {
    static const int after_id[] = {[JVMPI_GC_ROOT_JNI_GLOBAL] = 8,   [JVMPI_GC_ROOT_JNI_LOCAL] = 12,
                                   [JVMPI_GC_ROOT_JAVA_FRAME] = 12,  [JVMPI_GC_ROOT_NATIVE_STACK] = 8,
                                   [JVMPI_GC_ROOT_STICKY_CLASS] = 0, [JVMPI_GC_ROOT_THREAD_BLOCK] = 8,
                                   [JVMPI_GC_ROOT_MONITOR_USED] = 0};
    int tag = number(reader, 1);
    switch (tag) {
    case JVMPI_GC_CLASS_DUMP:
        class_dump(reader);
        break;
    case JVMPI_GC_INSTANCE_DUMP:
        pointer(reader);
        count_dumped(class_of(pointer(reader), "INSTANCE_DUMP"), JVMPI_NORMAL_OBJECT);
        bytes(reader, number(reader, 4));
        break;
    case JVMPI_GC_OBJ_ARRAY_DUMP: {
        pointer(reader);
        size_t length = number(reader, 4);
        jobjectID element = pointer(reader);
        count_dumped(element ? class_of(element, "OBJ_ARRAY_DUMP") : NULL, JVMPI_CLASS);
        bytes(reader, length * sizeof(void *));
        break;
    }
    case JVMPI_GC_PRIM_ARRAY_DUMP: {
        pointer(reader);
        size_t length = number(reader, 4);
        jint kind = number(reader, 1);
        count_dumped(NULL, kind);
        bytes(reader, length * bytes_of(kind));
        break;
    }
    default:
        EXPECT(tag == JVMPI_GC_ROOT_UNKNOWN || (tag >= JVMPI_GC_ROOT_JNI_GLOBAL && tag <= JVMPI_GC_ROOT_MONITOR_USED),
               "HEAP_DUMP: a record %x", tag);
        bytes(reader, 8 + (tag <= JVMPI_GC_ROOT_MONITOR_USED ? after_id[tag] : 0));
    }
}

static void on_heap_dump(JVMPI_Event *event) {
    Reader reader = reader_of("HEAP_DUMP", event->u.heap_dump.begin, event->u.heap_dump.end);
    while (reader.at < reader.end) {
        record(&reader);
    }
}

/* cpu=times */

static void on_entry(JVMPI_Event *event) {
    State *state = state_of(event->env_id);
    if (state->depth == state->capacity) {
        state->capacity = state->capacity ? 2 * state->capacity : 64;
        state->calls = realloc(state->calls, state->capacity * sizeof *state->calls);
    }
    Call *call = &state->calls[state->depth++];
    *call = (Call){event->u.method.method_id, 0, 0};
    call->began = CALL(GetCurrentThreadCpuTime)();
}

static void on_exit_of_method(JVMPI_Event *event) {
    jlong now = CALL(GetCurrentThreadCpuTime)();
    State *state = state_of(event->env_id);
    if (!state->depth || state->calls[state->depth - 1].method != event->u.method.method_id) {
        complain("METHOD_EXIT of another method than the top one");
        return;
    }
    Call *call = &state->calls[state->depth - 1];
    JVMPI_CallFrame frames[DEPTH];
    JVMPI_CallTrace trace = {event->env_id, 0, frames};
    for (; trace.num_frames < state->depth && trace.num_frames < DEPTH; trace.num_frames++) {
        frames[trace.num_frames] = (JVMPI_CallFrame){-1, state->calls[state->depth - 1 - trace.num_frames].method};
    }
    lock();
    Row *row = row_of(&times, NULL, 0, &trace);
    row->numbers[0]++;
    row->numbers[1] += now - call->began - call->inside;
    unlock();
    if (--state->depth) {
        call[-1].inside += now - call->began;
    }
}

/* cpu=samples */

static void sample(JNIEnv *own) {
    JNIEnv *found[MOST_THREADS];
    int count = 0;
    lock();
    for (size_t i = 0; i < threads.capacity && count < MOST_THREADS; i++) {
        if (threads.entries[i].value && threads.entries[i].key != own) {
            found[count++] = (JNIEnv *)threads.entries[i].key;
        }
    }
    unlock();
    for (int i = 0; i < count; i++) {
        JVMPI_CallFrame frames[DEPTH];
        JVMPI_CallTrace trace = {found[i], 0, frames};
        if ((CALL(GetThreadStatus)(found[i]) & ~JVMPI_THREAD_INTERRUPTED) != JVMPI_THREAD_RUNNABLE) {
            continue;
        }
        /* Nothing may block while a thread is suspended. */
        CALL(SuspendThread)(found[i]);
        int has_run = CALL(ThreadHasRun)(found[i]);
        if (has_run) {
            CALL(GetCallTrace)(&trace, DEPTH);
        }
        CALL(ResumeThread)(found[i]);
        if (has_run && trace.num_frames > 0) {
            lock();
            row_of(&samples, NULL, 0, &trace)->numbers[0]++;
            unlock();
        }
    }
}

static void sampler(void *nothing) {
    (void)nothing;
    JNIEnv *own = NULL;
    EXPECT((*java_vm)->GetEnv(java_vm, (void **)&own, JNI_VERSION_1_2) == JNI_OK, "a system thread has no JNIEnv");
    while (!is_over) {
        sample(own);
        usleep(PERIOD_US);
    }
    sampler_ended = 1;
}

/* monitor=y */

static void on_contended(JVMPI_Event *event) {
    State *state = state_of(event->env_id);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    jlong time = now.tv_sec * 1000000000LL + now.tv_nsec;
    if (event->event_type == JVMPI_EVENT_MONITOR_CONTENDED_ENTERED) {
        EXPECT(state->entering, "MONITOR_CONTENDED_ENTERED without _ENTER");
        if (state->entering) {
            lock();
            state->entering->numbers[0]++;
            state->entering->numbers[1] += time - state->began;
            state->entering = NULL;
            unlock();
        }
        return;
    }
    Class *class = class_of_object(event->u.monitor.object);
    JVMPI_CallFrame frames[DEPTH];
    JVMPI_CallTrace trace = {event->env_id, 0, frames};
    CALL(GetCallTrace)(&trace, DEPTH);
    lock();
    state->entering = row_of(&monitors, class, 0, &trace);
    unlock();
    state->began = time;
}

static void on_wait(JVMPI_Event *event) {
    if (event->u.monitor_wait.object) {
        Class *class = class_of_object(event->u.monitor_wait.object);
        lock();
        row_of(&waits, class, 0, NULL)->numbers[0]++;
        unlock();
    }
}

/* The tables */

static const char *kind_name(jint kind) {
    static const char *const names[] = {"?",     "?",      "?",    "?",     "boolean", "char",
                                        "float", "double", "byte", "short", "int",     "long"};
    return kind > 0 && kind < 12 ? names[kind] : "?";
}

/* Prints the rows of a table whose objects or innermost methods are of the program, or whose traces lead there. */
static void print(const char *name, Table *table, int numbers) {
    for (size_t i = 0; i < table->capacity; i++) {
        Row *row = table->entries[i].value;
        if (!row) {
            continue;
        }
        char line[900];
        int length = snprintf(line, sizeof line, "row\t%s\t%s%s\t", name,
                              row->class ? row->class->name : row->kind ? kind_name(row->kind) : "",
                              row->kind ? "[]" : "");
        int is_of_program_at_all = row->class && is_of_program(row->class->name);
        for (int at = 0; at < row->depth && length < (int)sizeof line; at++) {
            Method *method = get(&methods, row->frames[at].method_id);
            EXPECT(method, "a trace has the unknown method %p", (void *)row->frames[at].method_id);
            const char *of = method ? method->name : "?";
            is_of_program_at_all |= is_of_program(of);
            length += snprintf(line + length, sizeof line - length, "%s%s:%d", at ? " " : "", of,
                               row->frames[at].lineno > 0 ? row->frames[at].lineno : 0);
        }
        for (int at = 0; at < numbers && length < (int)sizeof line; at++) {
            length += snprintf(line + length, sizeof line - length, "\t%ld", row->numbers[at]);
        }
        if (is_of_program_at_all) {
            EXPECT(length < (int)sizeof line, "a row is too long: %s", line);
            say("%s", line);
        }
    }
}

static void on_shut_down(void) {
    CALL(RunGC)();
    is_over = 1;
    for (int i = 0; has_samples && !sampler_ended && i < 10000; i++) {
        usleep(1000);
    }
    EXPECT(!has_samples || sampler_ended, "the sampler does not end");
    for (jint event = 1; event <= JVMPI_MAX_EVENT_TYPE_VAL; event++) {
        CALL(DisableEvent)(event, NULL);
    }
    if (has_dump) {
        jint result = CALL(RequestEvent)(JVMPI_EVENT_HEAP_DUMP, NULL);
        EXPECT(result == JVMPI_SUCCESS, "RequestEvent(HEAP_DUMP) returned %d", result);
    }
    lock();
    if (has_sites) {
        print("sites", &sites, 4);
    }
    print("dump", &dumped, 1);
    print("samples", &samples, 1);
    print("times", &times, 2);
    print("monitors", &monitors, 2);
    print("waits", &waits, 1);
    unlock();
    verdict();
}

static void notify(JVMPI_Event *event) {
    jint type = event->event_type & ~JVMPI_REQUESTED_EVENT;
    if (is_over && type != JVMPI_EVENT_HEAP_DUMP && type != JVMPI_EVENT_CLASS_LOAD) {
        return; /* threads go on while one event after the other is disabled */
    }
    switch (type) {
    case JVMPI_EVENT_CLASS_LOAD:
        on_class_load(event);
        break;
    case JVMPI_EVENT_CLASS_UNLOAD:
        on_class_unload(event);
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
    case JVMPI_EVENT_OBJECT_FREE:
        on_free(event);
        break;
    case JVMPI_EVENT_GC_START:
        on_gc_start();
        break;
    case JVMPI_EVENT_GC_FINISH:
        on_gc_finish(event);
        break;
    case JVMPI_EVENT_METHOD_ENTRY:
        on_entry(event);
        break;
    case JVMPI_EVENT_METHOD_EXIT:
        on_exit_of_method(event);
        break;
    case JVMPI_EVENT_MONITOR_CONTENDED_ENTER:
    case JVMPI_EVENT_MONITOR_CONTENDED_ENTERED:
        on_contended(event);
        break;
    case JVMPI_EVENT_MONITOR_WAIT:
        on_wait(event);
        break;
    case JVMPI_EVENT_HEAP_DUMP:
        on_heap_dump(event);
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        if (has_samples) {
            jint result = CALL(CreateSystemThread)("judge-sampler", JVMPI_MAXIMUM_PRIORITY, sampler);
            EXPECT(result == JNI_OK, "CreateSystemThread returned %d", result);
        }
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
    java_vm = vm;
    has_sites = strstr(options, "sites") != NULL;
    has_dump = strstr(options, "dump") != NULL;
    has_samples = strstr(options, "samples") != NULL;
    has_times = strstr(options, "times") != NULL;
    has_monitors = strstr(options, "monitors") != NULL;
    if (begin(vm, notify) != JNI_OK) {
        return JNI_ERR;
    }
    enable(JVMPI_EVENT_CLASS_LOAD);
    enable(JVMPI_EVENT_CLASS_UNLOAD);
    enable(JVMPI_EVENT_THREAD_START);
    enable(JVMPI_EVENT_THREAD_END);
    enable(JVMPI_EVENT_JVM_INIT_DONE);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    if (has_sites) {
        enable(JVMPI_EVENT_GC_START);
        enable(JVMPI_EVENT_GC_FINISH);
        enable(JVMPI_EVENT_OBJECT_ALLOC);
        enable(JVMPI_EVENT_OBJECT_FREE);
    }
    if (has_times) {
        enable(JVMPI_EVENT_METHOD_ENTRY);
        enable(JVMPI_EVENT_METHOD_EXIT);
    }
    if (has_monitors) {
        enable(JVMPI_EVENT_MONITOR_CONTENDED_ENTER);
        enable(JVMPI_EVENT_MONITOR_CONTENDED_ENTERED);
        enable(JVMPI_EVENT_MONITOR_WAIT);
    }
    return JNI_OK;
}
