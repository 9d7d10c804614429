/*
 * A profiler of allocations that works as HPROF's heap=sites did: it enables the same events in the same order and gives
 * up at the first refusal. Every object must be allocated before it is freed, every class known, and every trace sound.
 * Prints the objects of the program's classes, and the methods that allocate them.
 *
 * Options: ask does not enable CLASS_LOAD and THREAD_START, but requests the definition of each unknown id.
 */
#include "classes.h"

static const char *const judge = "allocations";

/* Deep enough for the frames of reflection, which are many on newer JDKs. */
enum { DEPTH = 32 };

typedef struct {
    Class *class; /* of the elements, for an array of objects */
    jint kind, size;
} Object;

static Table objects, arenas, global_refs;
static int asks, is_initialised, is_ending, moves, frees, without_class;
static long allocations, item_arrays, large_arrays, items, live_items, loads, unloads;
static Table sites; /* from a Method to its number of Items */

/* JVMPI_CLASS and so on: bytes of an element; 0 for no kind at all. */
static int element_size(jint kind) {
    switch (kind) {
    case JVMPI_BOOLEAN:
    case JVMPI_BYTE:
        return 1;
    case JVMPI_CHAR:
    case JVMPI_SHORT:
        return 2;
    case JVMPI_INT:
    case JVMPI_FLOAT:
    case JVMPI_CLASS:
        return 4;
    case JVMPI_LONG:
    case JVMPI_DOUBLE:
        return 8;
    default:
        return 0;
    }
}

static void check_site(JVMPI_Event *event, int is_item) {
    JVMPI_CallFrame frames[DEPTH];
    JVMPI_CallTrace trace = {event->env_id, -1, frames};
    CALL(GetCallTrace)(&trace, DEPTH);
    EXPECT(trace.num_frames <= DEPTH, "GetCallTrace gave %d frames of %d", trace.num_frames, DEPTH);
    EXPECT(trace.env_id == event->env_id, "GetCallTrace changed the thread");
    check_trace(&trace, "GetCallTrace");
    if (!is_item) {
        return;
    }
    for (int i = 0; i < trace.num_frames; i++) {
        Method *method = known_method(frames[i].method_id);
        /* The constructor of a subclass would stand between the object and the method that makes it. */
        if (method && is_of_program(method->name) && !strstr(method->name, "<init>")) {
            lock();
            put(&sites, method, (void *)((intptr_t)get(&sites, method) + 1));
            unlock();
            EXPECT(frames[i].lineno >= method->first_line && frames[i].lineno <= method->last_line,
                   "an object is allocated at line %d of %s, which has the lines %d to %d", frames[i].lineno,
                   method->name, method->first_line, method->last_line);
            return;
        }
    }
    complain("an object of the program is allocated by no method of the program");
}

/* Looks at the stack of a thread at its start, as HPROF did. A thread that runs already has frames, and HPROF did not ask
 * for the definition of a method. */
static void check_stack(JVMPI_Event *event) {
    JVMPI_CallFrame frames[DEPTH];
    JVMPI_CallTrace trace = {event->u.thread_start.thread_env_id, -1, frames};
    CALL(GetCallTrace)(&trace, DEPTH);
    for (int i = 0; i < trace.num_frames; i++) {
        EXPECT(known_method(frames[i].method_id), "THREAD_START of %s, in whose stack is a method of an undefined class",
               event->u.thread_start.thread_name);
    }
}

/* Checks and returns a new record of the object. */
static Object *object_of(JVMPI_Event *event) {
    jobjectID class_id = event->u.obj_alloc.class_id;
    jint kind = event->u.obj_alloc.is_array;
    Object *object = calloc(1, sizeof *object);
    object->kind = kind;
    object->size = event->u.obj_alloc.size;
    if (kind == JVMPI_NORMAL_OBJECT || kind == JVMPI_CLASS) {
        object->class = class_id ? class_of(class_id, "OBJECT_ALLOC") : NULL;
        /* Only the object of java.lang.Class has none, because it would be its own class. */
        EXPECT(class_id || (kind == JVMPI_NORMAL_OBJECT && __sync_fetch_and_add(&without_class, 1) == 0),
               "OBJECT_ALLOC without a class, of kind %d", kind);
    } else {
        EXPECT(element_size(kind), "OBJECT_ALLOC of kind %d", kind);
        EXPECT(!class_id, "OBJECT_ALLOC of a primitive array with class %p", (void *)class_id);
    }
    EXPECT(object->size >= 8 && object->size % 8 == 0, "OBJECT_ALLOC of %d bytes", object->size);
    return object;
}

static void count(Object *object) {
    const char *name = object->class ? object->class->name : "";
    int is_large = object->kind == JVMPI_INT && object->size >= 49380 + 8 && object->size < 49380 + 32;
    int is_item = object->kind == JVMPI_NORMAL_OBJECT && strcmp(name, "Judged$Item") == 0;
    allocations++;
    large_arrays += is_large;
    items += is_item;
    live_items += is_item;
    item_arrays += object->kind == JVMPI_CLASS && strcmp(name, "Judged$Item") == 0 && object->size < 100;
}

static void on_alloc(JVMPI_Event *event) {
    int is_requested = event->event_type & JVMPI_REQUESTED_EVENT;
    jobjectID id = event->u.obj_alloc.obj_id;
    if (!id) {
        complain("OBJECT_ALLOC without id");
        return;
    }
    Object *object = object_of(event);
    int is_item = object->class && object->kind == JVMPI_NORMAL_OBJECT && strcmp(object->class->name, "Judged$Item") == 0;
    if (event->env_id && !is_requested) {
        /* Old VMs sent the first objects and classes before they told of threads. */
        EXPECT(asks || !is_initialised || known_thread(event->env_id), "OBJECT_ALLOC in an unknown thread");
        check_site(event, is_item);
    }
    lock();
    EXPECT(asks || get(&arenas, (void *)(intptr_t)(event->u.obj_alloc.arena_id + 1)),
           "OBJECT_ALLOC in the unknown arena %d", event->u.obj_alloc.arena_id);
    Object *known = get(&objects, id);
    if (known) {
        EXPECT(is_requested, "OBJECT_ALLOC of an id that was not freed");
        EXPECT(known->kind == object->kind && known->size == object->size && known->class == object->class,
               "requested OBJECT_ALLOC: kind %d, %d bytes, but the object had kind %d, %d bytes", object->kind,
               object->size, known->kind, known->size);
        free(object);
    } else {
        put(&objects, id, object);
        count(object);
    }
    unlock();
}

static void on_free(JVMPI_Event *event) {
    EXPECT(within_collection(), "OBJECT_FREE outside of GC_START and GC_FINISH");
    lock();
    Object *object = take(&objects, event->u.obj_free.obj_id);
    if (object) {
        live_items -= object->kind == JVMPI_NORMAL_OBJECT && object->class && strcmp(object->class->name, "Judged$Item") == 0;
    }
    frees++;
    unlock();
    EXPECT(object, "OBJECT_FREE of an unknown object");
}

static void on_arena(JVMPI_Event *event) {
    EXPECT(event->u.new_arena.arena_name, "ARENA_NEW without a name");
    lock();
    void *key = (void *)(intptr_t)(event->u.new_arena.arena_id + 1);
    EXPECT(!get(&arenas, key), "ARENA_NEW of %d twice", event->u.new_arena.arena_id);
    put(&arenas, key, (void *)1);
    unlock();
}

static void on_global_ref(JVMPI_Event *event) {
    int is_alloc = event->event_type == JVMPI_EVENT_JNI_GLOBALREF_ALLOC;
    jobject ref = is_alloc ? event->u.jni_globalref_alloc.ref_id : event->u.jni_globalref_free.ref_id;
    lock();
    if (is_alloc) {
        EXPECT(ref && event->u.jni_globalref_alloc.obj_id, "JNI_GLOBALREF_ALLOC without reference or object");
        EXPECT(!get(&global_refs, ref), "JNI_GLOBALREF_ALLOC of a reference that was not freed");
        put(&global_refs, ref, event->u.jni_globalref_alloc.obj_id);
    } else {
        take(&global_refs, ref);
    }
    unlock();
}

/* The objects of three kinds, asked for again: a class, a thread, and an object that the judge has not seen before. */
static void request_again(void) {
    CALL(DisableGC)();
    for (size_t i = 0, asked = 0; i < threads.capacity && asked < 3; i++) {
        Thread *thread = threads.entries[i].value;
        if (thread) {
            jobjectID object = CALL(GetThreadObject)((JNIEnv *)threads.entries[i].key);
            EXPECT(object == thread->object, "GetThreadObject of %s is not the id of THREAD_START", thread->name);
            jint result = CALL(RequestEvent)(JVMPI_EVENT_THREAD_START, object);
            EXPECT(result == JVMPI_SUCCESS, "RequestEvent(THREAD_START) returned %d", result);
            result = CALL(RequestEvent)(JVMPI_EVENT_OBJECT_ALLOC, object);
            EXPECT(result == JVMPI_SUCCESS, "RequestEvent(OBJECT_ALLOC) returned %d", result);
            asked++;
        }
    }
    CALL(EnableGC)();
}

static void on_shut_down(void) {
    /* When CLASS_LOAD is disabled, classes are defined that nothing has needed, but OBJECT_ALLOC is disabled already. */
    is_ending = 1;
    for (jint event = 1; event <= JVMPI_MAX_EVENT_TYPE_VAL; event++) {
        CALL(DisableEvent)(event, NULL);
    }
    request_again();
    lock();
    total("objects", allocations);
    total("frees", frees);
    total("moves", moves);
    total("allocated-Judged$Item", items);
    total("live-Judged$Item", live_items);
    total("arrays-Judged$Item", item_arrays);
    total("large-arrays", large_arrays);
    total("loads-Judged$Loaded", loads);
    total("unloads-Judged$Loaded", unloads);
    total("requested-classes", requested_classes);
    for (size_t i = 0; i < sites.capacity; i++) {
        if (sites.entries[i].value) {
            char name[256];
            snprintf(name, sizeof name, "site-%s", ((Method *)sites.entries[i].key)->name);
            total(name, (intptr_t)sites.entries[i].value);
        }
    }
    EXPECT(allocations > 1000 && frees > 0, "%ld objects, %d frees", allocations, frees);
    EXPECT(asks || arenas.capacity, "no ARENA_NEW");
    unlock();
    verdict();
}

static void notify(JVMPI_Event *event) {
    switch (event->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
        lock();
        EXPECT(is_ending || get(&objects, event->u.class_load.class_id),
               "CLASS_LOAD of %s before the OBJECT_ALLOC of this class", event->u.class_load.class_name);
        unlock();
        loads += strcmp(event->u.class_load.class_name, "Judged$Loaded") == 0;
        on_class_load(event);
        break;
    case JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT:
        on_class_load(event);
        break;
    case JVMPI_EVENT_CLASS_UNLOAD: {
        Class *class = known_class(event->u.class_unload.class_id);
        unloads += class && strcmp(class->name, "Judged$Loaded") == 0;
        if (class || !asks) {
            on_class_unload(event);
        }
        break;
    }
    case JVMPI_EVENT_THREAD_START:
        on_thread_start(event);
        check_stack(event);
        break;
    case JVMPI_EVENT_THREAD_START | JVMPI_REQUESTED_EVENT:
        on_thread_start(event);
        break;
    case JVMPI_EVENT_THREAD_END:
        if (!asks) {
            on_thread_end(event);
        }
        break;
    case JVMPI_EVENT_OBJECT_ALLOC:
    case JVMPI_EVENT_OBJECT_ALLOC | JVMPI_REQUESTED_EVENT:
        on_alloc(event);
        break;
    case JVMPI_EVENT_OBJECT_FREE:
        on_free(event);
        break;
    case JVMPI_EVENT_OBJECT_MOVE:
        EXPECT(within_collection(), "OBJECT_MOVE outside of GC_START and GC_FINISH");
        moves++;
        break;
    case JVMPI_EVENT_ARENA_NEW:
        on_arena(event);
        break;
    case JVMPI_EVENT_GC_START:
        on_gc_start();
        break;
    case JVMPI_EVENT_GC_FINISH:
        on_gc_finish(event);
        break;
    case JVMPI_EVENT_JNI_GLOBALREF_ALLOC:
    case JVMPI_EVENT_JNI_GLOBALREF_FREE:
        on_global_ref(event);
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        is_initialised = 1;
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        on_shut_down();
        break;
    case JVMPI_EVENT_ARENA_DELETE:
    case JVMPI_EVENT_DATA_DUMP_REQUEST:
    case JVMPI_EVENT_DATA_RESET_REQUEST:
        break;
    default:
        complain("event %d is not enabled", event->event_type);
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    asks = options && strstr(options, "ask");
    if (begin(vm, notify) != JNI_OK) {
        return JNI_ERR;
    }
    const jint order[] = {
        JVMPI_EVENT_CLASS_LOAD,          JVMPI_EVENT_CLASS_UNLOAD,       JVMPI_EVENT_THREAD_START,
        JVMPI_EVENT_THREAD_END,          JVMPI_EVENT_DUMP_DATA_REQUEST,  JVMPI_EVENT_RESET_DATA_REQUEST,
        JVMPI_EVENT_JVM_INIT_DONE,       JVMPI_EVENT_JVM_SHUT_DOWN,      JVMPI_EVENT_GC_START,
        JVMPI_EVENT_GC_FINISH,           JVMPI_EVENT_OBJ_ALLOC,          JVMPI_EVENT_OBJ_MOVE,
        JVMPI_EVENT_OBJ_FREE,            JVMPI_EVENT_NEW_ARENA,          JVMPI_EVENT_DELETE_ARENA,
        JVMPI_EVENT_JNI_GLOBALREF_ALLOC, JVMPI_EVENT_JNI_GLOBALREF_FREE,
    };
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (asks && (order[i] == JVMPI_EVENT_CLASS_LOAD || order[i] == JVMPI_EVENT_THREAD_START)) {
            continue;
        }
        jint result = CALL(EnableEvent)(order[i], NULL);
        if (result != JVMPI_SUCCESS) {
            complain("EnableEvent(%d) returned %d, and no event behind it is enabled", order[i], result);
            return JNI_OK;
        }
    }
    return JNI_OK;
}
