/*
 * The classes, methods and threads that a judge was told of by CLASS_LOAD and THREAD_START. An id that none of these
 * events defined is a complaint, unless the judge asks for its definition by RequestEvent.
 */
#ifndef CLASSES_H
#define CLASSES_H

#include "judge.h"

typedef struct {
    char *name;
    int interfaces, is_unloaded;
    char *statics, *instances; /* the types of the fields, a letter each, as in signatures */
} Class;

typedef struct {
    Class *class;
    char *name; /* with the class: Judged.main */
    int first_line, last_line;
} Method;

typedef struct {
    char *name;
    jobjectID object;
} Thread;

static Table classes, methods, threads;
static int class_loads_of_program, class_unloads_of_program, requested_classes;

/* Classes of the test's program, which are counted. */
static inline int is_of_program(const char *name) {
    return strncmp(name, "Judged", 6) == 0;
}

/* Returns true if the program under observation is the test's, whose numbers are known. */
static inline int runs_the_tests_program(void) {
    return class_loads_of_program > 0;
}

static inline char *field_types(const char *class, jint count, JVMPI_Field *fields) {
    char *types = calloc(count > 0 ? count + 1 : 1, 1);
    EXPECT(count >= 0 && (count == 0 || fields), "CLASS_LOAD of %s: %d fields at %p", class, count, (void *)fields);
    for (int i = 0; i < count && fields; i++) {
        EXPECT(fields[i].field_name && *fields[i].field_name, "CLASS_LOAD of %s: field %d has no name", class, i);
        if (fields[i].field_signature && strchr("ZBCSIJFDL[", *fields[i].field_signature)) {
            types[i] = *fields[i].field_signature;
        } else {
            complain("CLASS_LOAD of %s: field %d has no signature", class, i);
            types[i] = 'L';
        }
    }
    return types;
}

static inline void add_method(Class *class, JVMPI_Method *loaded) {
    if (!loaded->method_name || !loaded->method_signature || loaded->method_signature[0] != '(' || !loaded->method_id) {
        complain("CLASS_LOAD of %s: a method without name, signature or id", class->name);
        return;
    }
    EXPECT((loaded->start_lineno < 0) == (loaded->end_lineno < 0), "%s.%s: lines %d to %d", class->name,
           loaded->method_name, loaded->start_lineno, loaded->end_lineno);
    Method *known = get(&methods, loaded->method_id);
    if (known && !known->class->is_unloaded && known->class != class) {
        complain("%s.%s has the method id of %s", class->name, loaded->method_name, known->name);
    }
    if (!known) {
        known = calloc(1, sizeof *known);
        put(&methods, loaded->method_id, known);
    }
    size_t size = strlen(class->name) + strlen(loaded->method_name) + 2;
    known->class = class;
    known->name = malloc(size);
    snprintf(known->name, size, "%s.%s", class->name, loaded->method_name);
    known->first_line = loaded->start_lineno;
    known->last_line = loaded->end_lineno;
}

static inline void on_class_load(JVMPI_Event *event) {
    int is_requested = event->event_type & JVMPI_REQUESTED_EVENT;
    if (!event->u.class_load.class_name || !*event->u.class_load.class_name || !event->u.class_load.class_id) {
        complain("CLASS_LOAD without name or id");
        return;
    }
    lock();
    Class *class = get(&classes, event->u.class_load.class_id);
    const char *name = event->u.class_load.class_name;
    if (class && !is_requested && !class->is_unloaded) {
        complain("CLASS_LOAD of %s, which is known as %s", name, class->name);
    }
    if (class && is_requested) {
        EXPECT(strcmp(class->name, name) == 0, "requested CLASS_LOAD of %s gave %s", class->name, name);
    } else {
        class = calloc(1, sizeof *class);
        put(&classes, event->u.class_load.class_id, class);
    }
    EXPECT(!strchr(name, '/'), "CLASS_LOAD: the name %s has slashes", name);
    EXPECT(event->u.class_load.num_interfaces >= 0, "CLASS_LOAD of %s: interfaces", name);
    class->name = strdup(name);
    class->interfaces = event->u.class_load.num_interfaces;
    class->statics = field_types(name, event->u.class_load.num_static_fields, event->u.class_load.statics);
    class->instances = field_types(name, event->u.class_load.num_instance_fields, event->u.class_load.instances);
    EXPECT(event->u.class_load.num_methods == 0 || event->u.class_load.methods, "CLASS_LOAD of %s: methods", name);
    for (int i = 0; i < event->u.class_load.num_methods; i++) {
        add_method(class, &event->u.class_load.methods[i]);
    }
    class_loads_of_program += !is_requested && is_of_program(name);
    unlock();
}

/* Keeps the class, whose name is still needed, but allows the ids of the class and of its methods to be defined again. */
static inline void on_class_unload(JVMPI_Event *event) {
    lock();
    Class *class = get(&classes, event->u.class_unload.class_id);
    EXPECT(class && !class->is_unloaded, "CLASS_UNLOAD of %s", class ? class->name : "an unknown class");
    if (class) {
        class->is_unloaded = 1;
        class_unloads_of_program += is_of_program(class->name);
    }
    unlock();
}

static inline Class *known_class(jobjectID id) {
    lock();
    Class *class = get(&classes, id);
    unlock();
    return class;
}

static inline Method *known_method(jmethodID id) {
    lock();
    Method *method = get(&methods, id);
    unlock();
    return method;
}

/* Asks for the definition of a class, for a caller that has disabled collections. */
static inline Class *request_class(jobjectID id) {
    if (!id) {
        return NULL;
    }
    jint result = CALL(RequestEvent)(JVMPI_EVENT_CLASS_LOAD, id);
    EXPECT(result == JVMPI_SUCCESS, "RequestEvent(CLASS_LOAD) returned %d", result);
    requested_classes++;
    return known_class(id);
}

/* Returns the class of an object. For events in which collections are disabled. */
static inline Class *class_of(jobjectID id, const char *where) {
    Class *class = known_class(id);
    if (!class) {
        class = request_class(id);
        EXPECT(class, "%s: unknown class id %p", where, (void *)id);
    }
    return class;
}

static inline Method *method_of(jmethodID id, const char *where) {
    Method *method = known_method(id);
    if (!method && id) {
        CALL(DisableGC)();
        request_class(CALL(GetMethodClass)(id));
        CALL(EnableGC)();
        method = known_method(id);
    }
    EXPECT(method, "%s: unknown method id %p", where, (void *)id);
    return method;
}

static inline void on_thread_start(JVMPI_Event *event) {
    JNIEnv *env = event->u.thread_start.thread_env_id;
    if (!env || !event->u.thread_start.thread_name || !event->u.thread_start.thread_id) {
        complain("THREAD_START without environment, name or object");
        return;
    }
    EXPECT(event->u.thread_start.group_name && event->u.thread_start.parent_name,
           "THREAD_START of %s without names of group and parent", event->u.thread_start.thread_name);
    lock();
    Thread *known = get(&threads, env);
    if (known && !(event->event_type & JVMPI_REQUESTED_EVENT)) {
        complain("THREAD_START of %s: %s, which has not ended, has its environment", event->u.thread_start.thread_name,
                 known->name);
    }
    if (!known) {
        known = calloc(1, sizeof *known);
        put(&threads, env, known);
    }
    known->name = strdup(event->u.thread_start.thread_name);
    known->object = event->u.thread_start.thread_id;
    unlock();
}

static inline void on_thread_end(JVMPI_Event *event) {
    lock();
    Thread *known = take(&threads, event->env_id);
    unlock();
    EXPECT(known, "THREAD_END of an unknown thread");
}

static inline Thread *known_thread(JNIEnv *env) {
    lock();
    Thread *thread = get(&threads, env);
    unlock();
    return thread;
}

/* Checks the frames of a trace: the innermost call first, each method known, each line in its method. */
static inline void check_trace(JVMPI_CallTrace *trace, const char *where) {
    EXPECT(trace->num_frames >= 0 && (trace->num_frames == 0 || trace->frames), "%s: a trace of %d frames", where,
           trace->num_frames);
    for (int i = 0; i < trace->num_frames; i++) {
        JVMPI_CallFrame *frame = &trace->frames[i];
        Method *method = method_of(frame->method_id, where);
        if (method && frame->lineno >= 0) {
            EXPECT(method->first_line >= 0, "%s: %s, which has no lines, is at line %d", where, method->name,
                   frame->lineno);
        }
    }
}

#endif
