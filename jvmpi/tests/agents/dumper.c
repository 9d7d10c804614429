/*
 * A dumper of the heap: at JVM_SHUT_DOWN it requests heap dumps of all levels and walks them to their last byte, with the
 * fields and interfaces of CLASS_LOAD as the key. Every object is dumped once, every reference leads to a dumped object,
 * and the program's objects have the program's values. OBJECT_DUMP of single objects gives the same records.
 *
 * As HPROF does, it also asks for the OBJECT_DUMP of every class while it handles a dump: each record is that of the
 * dump, and all together take not much longer than the dump.
 *
 * Options: late requests a dump, instead of all that, while a THREAD_START is being handled, and checks that the dump does
 * not name this thread.
 */
#include <time.h>

#include "classes.h"
#include "reader.h"

static const char *const judge = "dumper";

/* The state of a walk over one dump. */
static int level;
static Table dumped; /* from an object to the kind of its record */
static Table supers; /* from a class to its superclass; OBJECT of none */
static jobjectID *references;
static size_t reference_count, reference_capacity;
static int roots, sticky_roots, nodes, node_arrays, classes_dumped;
static jobjectID a_node, an_array, a_reference_array, a_class, a_string;
static int object_dumps, undefined_classes;
static int is_late;
/* The record that the OBJECT_DUMP of a class must have, while a dump is handled. */
static const unsigned char *class_record;
static size_t class_record_size;
static volatile int is_starting, is_dumped;
static double dump_began, dump_took;

static const Class NO_SUPER;

static void add_reference(jobjectID id) {
    if (!id) {
        return;
    }
    if (reference_count == reference_capacity) {
        reference_capacity = reference_capacity ? 2 * reference_capacity : 4096;
        references = realloc(references, reference_capacity * sizeof *references);
    }
    references[reference_count++] = id;
}

static void add_dumped(jobjectID id, int kind) {
    EXPECT(id, "HEAP_DUMP %d: an object without id", level);
    EXPECT(!get(&dumped, id), "HEAP_DUMP %d: an object is dumped twice, by records %x and %x", level, kind,
           (int)(intptr_t)get(&dumped, id));
    put(&dumped, id, (void *)(intptr_t)kind);
}

/* Bytes of a value of this type in the dump; at level 1 there are only references. */
static int size_of(char type) {
    if (type == 'L' || type == '[') {
        return sizeof(jobjectID);
    }
    if (level == JVMPI_DUMP_LEVEL_1) {
        return 0;
    }
    return strchr("JD", type) ? 8 : strchr("IF", type) ? 4 : strchr("CS", type) ? 2 : 1;
}

static uint64_t value(Reader *reader, char type) {
    if (type == 'L' || type == '[') {
        jobjectID id = pointer(reader);
        add_reference(id);
        return (uintptr_t)id;
    }
    return number(reader, size_of(type));
}

/* The letter of JVMPI_BOOLEAN and so on in signatures; 0 for others. */
static char letter(int kind) {
    const char letters[] = "\0\0L\0ZCFDBSIJ";
    return kind < 12 ? letters[kind] : 0;
}

static void root(Reader *reader, int kind) {
    jobjectID id = pointer(reader);
    roots++;
    sticky_roots += kind == JVMPI_GC_ROOT_STICKY_CLASS;
    EXPECT(id, "HEAP_DUMP %d: root %x without object", level, kind);
    add_reference(id);
    switch (kind) {
    case JVMPI_GC_ROOT_JNI_GLOBAL:
        pointer(reader); /* the reference: NULL if the JVM made it before the layer could see it */
        break;
    case JVMPI_GC_ROOT_JNI_LOCAL:
    case JVMPI_GC_ROOT_JAVA_FRAME:
        EXPECT(known_thread(pointer(reader)), "HEAP_DUMP %d: root %x of an unknown thread", level, kind);
        EXPECT((int32_t)number(reader, 4) >= -1, "HEAP_DUMP %d: root %x with a bad frame", level, kind);
        break;
    case JVMPI_GC_ROOT_NATIVE_STACK:
    case JVMPI_GC_ROOT_THREAD_BLOCK:
        EXPECT(known_thread(pointer(reader)), "HEAP_DUMP %d: root %x of an unknown thread", level, kind);
        break;
    }
}

static void class_dump(Reader *reader, int is_second_pass) {
    jobjectID id = pointer(reader), super = pointer(reader);
    undefined_classes += !known_class(id);
    Class *class = class_of(id, "CLASS_DUMP");
    for (int i = 0; i < 4; i++) { /* loader, signers, protection domain, name */
        add_reference(pointer(reader));
    }
    pointer(reader);
    uint32_t size = number(reader, 4);
    if (!class) {
        return;
    }
    if (!is_second_pass) {
        put(&supers, id, super ? (void *)super : (void *)&NO_SUPER);
        classes_dumped++;
    }
    EXPECT(!super || class_of(super, "CLASS_DUMP"), "CLASS_DUMP of %s: unknown superclass", class->name);
    EXPECT(size < 100000, "CLASS_DUMP of %s: instances of %u bytes", class->name, size);
    for (int i = 0; i < class->interfaces; i++) {
        EXPECT(class_of(pointer(reader), "CLASS_DUMP"), "CLASS_DUMP of %s: an unknown interface", class->name);
    }
    unsigned constants = number(reader, 2);
    for (unsigned i = 0; i < constants; i++) {
        number(reader, 2);
        char type = letter(number(reader, 1));
        EXPECT(type, "CLASS_DUMP of %s: a constant of no type", class->name);
        value(reader, type ? type : 'B');
    }
    int is_statics = strcmp(class->name, "Judged$Statics") == 0;
    for (const char *type = class->statics; *type; type++) {
        uint64_t found = value(reader, *type);
        if (is_statics && size_of(*type)) {
            EXPECT(found == (*type == 'Z' ? 1 : *type == 'I' ? 0x600DF00D : *type == 'J' ? UINT64_MAX
                             : *type == 'C' ? 's' : found) && found,
                   "CLASS_DUMP of Judged$Statics: the field of type %c is %llx", *type, (unsigned long long)found);
        }
    }
    if (is_statics) {
        EXPECT(class->interfaces == 2, "CLASS_LOAD of Judged$Statics: %d interfaces", class->interfaces);
    }
    if (strcmp(class->name, "Judged$Node") == 0) {
        a_class = id;
    }
}

/* The value that a field of a Node must have, by its type: each type occurs once. */
static uint64_t node_value(char type, uint64_t found) {
    switch (type) {
    case 'Z':
        return 1;
    case 'C':
        return 'j';
    case 'S':
        return (uint16_t)-300;
    case 'I':
        return 0x600D0000 | (found & 15);
    case 'J':
        return 0x0123456789ABCDEF;
    case 'F':
        return 0x3FC00000;
    case 'D':
        return 0xC004000000000000;
    default: /* a byte is in both classes; references differ */
        return found;
    }
}

static void instance_dump(Reader *reader, int is_second_pass) {
    jobjectID id = pointer(reader), class_id = pointer(reader);
    uint32_t size = number(reader, 4);
    const unsigned char *end = reader->at + size;
    Class *class = class_of(class_id, "INSTANCE_DUMP");
    if (!is_second_pass || !class) {
        bytes(reader, size);
        return;
    }
    int is_node = strcmp(class->name, "Judged$Node") == 0;
    uint32_t expected = 0;
    for (jobjectID at = class_id; at && at != (jobjectID)&NO_SUPER; at = get(&supers, at)) {
        Class *part = class_of(at, "INSTANCE_DUMP");
        EXPECT(get(&supers, at), "INSTANCE_DUMP: the class %s is not dumped", part ? part->name : "?");
        for (const char *type = part ? part->instances : ""; *type; type++) {
            expected += size_of(*type);
            uint64_t found = reader->at < end ? value(reader, *type) : 0;
            if (is_node && size_of(*type)) {
                uint64_t wanted = *type != 'B' ? node_value(*type, found) : at == class_id ? 0xFE : 7;
                EXPECT(found == wanted, "INSTANCE_DUMP of a node: %llx for the type %c, but %llx",
                       (unsigned long long)found, *type, (unsigned long long)wanted);
            }
        }
    }
    EXPECT(size == expected && reader->at == end, "INSTANCE_DUMP of %s: %u bytes, but its fields have %u", class->name,
           size, expected);
    reader->at = end;
    nodes += is_node;
    if (is_node) {
        a_node = id;
    } else if (strcmp(class->name, "java.lang.String") == 0) {
        a_string = id;
    }
}

static void array_dump(Reader *reader, int kind) {
    jobjectID id = pointer(reader);
    uint32_t length = number(reader, 4);
    if (kind == JVMPI_GC_OBJ_ARRAY_DUMP) {
        jobjectID class_id = pointer(reader);
        Class *class = class_id ? class_of(class_id, "OBJ_ARRAY_DUMP") : NULL;
        for (uint32_t i = 0; i < length && reader->at < reader->end; i++) {
            value(reader, 'L');
        }
        if (class && strcmp(class->name, "Judged$Item") == 0) {
            a_reference_array = id;
        }
        return;
    }
    char type = letter(number(reader, 1));
    if (!type || type == 'L') {
        complain("PRIM_ARRAY_DUMP of no type");
        reader->at = reader->end;
        return;
    }
    const unsigned char *values = bytes(reader, (ptrdiff_t)length * size_of(type));
    const unsigned char wanted[] = {0, 0, 0, 1, 0, 0, 0, 2, 0x60, 0x0D, 0xCA, 0xFE};
    if (type == 'I' && length == 3 && (level == JVMPI_DUMP_LEVEL_1 || memcmp(values, wanted, 12) == 0)) {
        node_arrays++;
        an_array = id;
    }
}

/* Reads a record. Instances are read in the second pass, when the superclass of each class is known. */
static void record(Reader *reader, int is_second_pass) {
    int kind = number(reader, 1);
    const unsigned char *body = reader->at;
    switch (kind) {
    case JVMPI_GC_CLASS_DUMP:
        class_dump(reader, is_second_pass);
        break;
    case JVMPI_GC_INSTANCE_DUMP:
        instance_dump(reader, is_second_pass);
        break;
    case JVMPI_GC_OBJ_ARRAY_DUMP:
    case JVMPI_GC_PRIM_ARRAY_DUMP:
        array_dump(reader, kind);
        break;
    case JVMPI_GC_ROOT_UNKNOWN:
    case JVMPI_GC_ROOT_JNI_GLOBAL:
    case JVMPI_GC_ROOT_JNI_LOCAL:
    case JVMPI_GC_ROOT_JAVA_FRAME:
    case JVMPI_GC_ROOT_NATIVE_STACK:
    case JVMPI_GC_ROOT_STICKY_CLASS:
    case JVMPI_GC_ROOT_THREAD_BLOCK:
    case JVMPI_GC_ROOT_MONITOR_USED:
        root(reader, kind);
        return;
    default:
        complain("%s: a record %x, whose body is not specified", reader->dump, kind);
        reader->at = reader->end;
        return;
    }
    if (is_second_pass) {
        jobjectID id;
        memcpy(&id, body, sizeof id);
        add_dumped(id, kind);
    }
}

static void forget(void) {
    free(dumped.entries);
    dumped = (Table){NULL, 0, 0};
    reference_count = 0;
    roots = sticky_roots = nodes = node_arrays = classes_dumped = 0;
}

static void walk_objects(JVMPI_Event *event) {
    for (int pass = 0; pass < 2; pass++) {
        forget();
        Reader reader = reader_of("HEAP_DUMP", event->u.heap_dump.begin, event->u.heap_dump.end);
        while (reader.at < reader.end) {
            record(&reader, pass);
        }
    }
    int lost = 0;
    for (size_t i = 0; i < reference_count; i++) {
        lost += !get(&dumped, references[i]);
    }
    EXPECT(!lost, "HEAP_DUMP %d: %d of %zu references lead to no dumped object", level, lost, reference_count);
    EXPECT(sticky_roots, "HEAP_DUMP %d: no root is a system class", level);
    int expected = runs_the_tests_program() ? 10 : 0;
    EXPECT(nodes == expected, "HEAP_DUMP %d: %d nodes", level, nodes);
    EXPECT(level == JVMPI_DUMP_LEVEL_1 ? node_arrays >= expected : node_arrays == expected, "HEAP_DUMP %d: %d arrays of nodes",
           level, node_arrays);
    for (int i = 0; i < event->u.heap_dump.num_traces; i++) {
        EXPECT(known_thread(event->u.heap_dump.traces[i].env_id), "HEAP_DUMP: a trace of an unknown thread");
        check_trace(&event->u.heap_dump.traces[i], "HEAP_DUMP");
    }
}

/* Processor time of the JVM, which other programs do not prolong. */
static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static void request(jint event, void *argument);

/* Asks for the OBJECT_DUMP of every class in a dump. */
static void dump_classes(JVMPI_Event *event) {
    Reader reader = reader_of("HEAP_DUMP", event->u.heap_dump.begin, event->u.heap_dump.end);
    int before = object_dumps, asked = 0;
    double began = seconds();
    forget();
    while (reader.at < reader.end) {
        const unsigned char *start = reader.at;
        record(&reader, 0);
        if (*start == JVMPI_GC_CLASS_DUMP) {
            jobjectID id;
            memcpy(&id, start + 1, sizeof id);
            class_record = start;
            class_record_size = reader.at - start;
            request(JVMPI_EVENT_OBJECT_DUMP, id);
            asked++;
        }
    }
    class_record = NULL;
    EXPECT(object_dumps == before + asked, "%d OBJECT_DUMPs of %d classes", object_dumps - before, asked);
    double took = seconds() - began;
    /* Threads of the JVM, such as those that compile, may use processor time meanwhile. */
    EXPECT(took < 10 * dump_took || took < dump_took + 1,
           "the OBJECT_DUMPs of %d classes take %.3f s, but the HEAP_DUMP %.3f s", asked, took, dump_took);
}

static void on_heap_dump(JVMPI_Event *event) {
    dump_took = seconds() - dump_began;
    EXPECT(event->u.heap_dump.dump_level == level, "HEAP_DUMP of level %d instead of %d", event->u.heap_dump.dump_level,
           level);
    if (level != JVMPI_DUMP_LEVEL_0) {
        walk_objects(event);
    } else {
        forget();
        EXPECT(event->u.heap_dump.num_traces == 0, "HEAP_DUMP 0 has %d traces", event->u.heap_dump.num_traces);
        Reader reader = reader_of("HEAP_DUMP", event->u.heap_dump.begin, event->u.heap_dump.end);
        while (reader.at < reader.end) {
            int kind = number(&reader, 1);
            EXPECT(kind == JVMPI_NORMAL_OBJECT || letter(kind), "HEAP_DUMP 0: an object of kind %d", kind);
            add_dumped(pointer(&reader), kind + 1);
        }
    }
    EXPECT(dumped.filled > 3000, "HEAP_DUMP %d: only %zu objects", level, dumped.filled);
    say("level %d: %zu objects, %d roots, %zu references", level, dumped.filled, roots, reference_count);
    if (level == JVMPI_DUMP_LEVEL_2) {
        dump_classes(event);
    }
}

/* Only the roots, since CLASS_LOAD of some classes is sent at the end of the program. */
static void on_late_dump(JVMPI_Event *event) {
    Reader reader = reader_of("HEAP_DUMP", event->u.heap_dump.begin, event->u.heap_dump.end);
    while (reader.at < reader.end && (*reader.at < JVMPI_GC_CLASS_DUMP || *reader.at == JVMPI_GC_ROOT_UNKNOWN)) {
        record(&reader, 0);
    }
    for (int i = 0; i < event->u.heap_dump.num_traces; i++) {
        EXPECT(known_thread(event->u.heap_dump.traces[i].env_id), "HEAP_DUMP: a trace of an unknown thread");
    }
    total("late-dumps", roots > 100);
    is_dumped = 1;
}

static void on_start(JVMPI_Event *event) {
    if (strcmp(event->u.thread_start.thread_name, "late") == 0) {
        is_starting = 1;
        /* Longer than the layer waits for it. */
        for (int i = 0; i < 30000 && !is_dumped; i++) {
            usleep(1000);
        }
    }
    on_thread_start(event);
}

static void nothing(void *argument) {
    (void)argument;
}

static void on_object_dump(JVMPI_Event *event) {
    char *data = event->u.object_dump.data;
    Reader reader = reader_of("OBJECT_DUMP", data, data + event->u.object_dump.data_len);
    EXPECT(reader.at < reader.end, "an empty OBJECT_DUMP");
    if (class_record) {
        size_t size = reader.end - reader.at;
        EXPECT(size == class_record_size && memcmp(reader.at, class_record, size) == 0,
               "OBJECT_DUMP of a class differs from its record in the HEAP_DUMP");
        object_dumps++;
        return;
    }
    forget();
    record(&reader, 1);
    EXPECT(reader.at == reader.end && dumped.filled == 1, "OBJECT_DUMP has bytes behind its record");
    object_dumps++;
}

/* Collections are disabled for an argument that is an id, as the specification asks for. */
static void request(jint event, void *argument) {
    if (event == JVMPI_EVENT_OBJECT_DUMP) {
        CALL(DisableGC)();
    }
    if (event == JVMPI_EVENT_HEAP_DUMP) {
        dump_began = seconds();
    }
    jint result = CALL(RequestEvent)(event, argument);
    if (event == JVMPI_EVENT_OBJECT_DUMP) {
        CALL(EnableGC)();
    }
    EXPECT(result == JVMPI_SUCCESS, "RequestEvent(%d) returned %d", event, result);
}

static void on_init_done(void) {
    JVMPI_HeapDumpArg argument = {.heap_dump_level = level = JVMPI_DUMP_LEVEL_1};
    EXPECT(CALL(CreateSystemThread)("late", JVMPI_NORMAL_PRIORITY, nothing) == JNI_OK, "CreateSystemThread");
    for (int i = 0; i < 30000 && !is_starting; i++) {
        usleep(1000);
    }
    EXPECT(is_starting, "no THREAD_START of the thread that CreateSystemThread made");
    request(JVMPI_EVENT_HEAP_DUMP, &argument);
}

static void on_shut_down(void) {
    JVMPI_HeapDumpArg argument;
    if (is_late) {
        verdict();
        return;
    }
    /* As HPROF did. The layer defines the classes that nothing has needed so far when CLASS_LOAD is disabled. */
    for (jint event = 1; event <= JVMPI_MAX_EVENT_TYPE_VAL; event++) {
        CALL(DisableEvent)(event, NULL);
    }
    for (jint i = JVMPI_DUMP_LEVEL_0; i <= JVMPI_DUMP_LEVEL_2; i++) {
        argument.heap_dump_level = level = i;
        request(JVMPI_EVENT_HEAP_DUMP, &argument);
    }
    request(JVMPI_EVENT_HEAP_DUMP, NULL);
    jobjectID chosen[] = {a_node, an_array, a_reference_array, a_class, a_string};
    for (int i = 0; i < 5; i++) {
        EXPECT(chosen[i] || !runs_the_tests_program(), "no object %d in the dumps", i);
        if (chosen[i]) {
            int before = object_dumps;
            request(JVMPI_EVENT_OBJECT_DUMP, chosen[i]);
            EXPECT(object_dumps == before + 1, "no OBJECT_DUMP came");
        }
    }
    /* A thread of the VM may load a class after CLASS_LOAD was disabled. */
    EXPECT(undefined_classes < 5, "%d CLASS_DUMPs of classes that no CLASS_LOAD has defined", undefined_classes);
    argument.heap_dump_level = 3;
    EXPECT(CALL(RequestEvent)(JVMPI_EVENT_HEAP_DUMP, &argument) == JVMPI_FAIL, "a HEAP_DUMP of level 3 does not fail");
    verdict();
}

static void notify(JVMPI_Event *event) {
    switch (event->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
    case JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT:
        on_class_load(event);
        break;
    case JVMPI_EVENT_CLASS_UNLOAD:
        on_class_unload(event);
        break;
    case JVMPI_EVENT_THREAD_START:
        on_start(event);
        break;
    case JVMPI_EVENT_THREAD_END:
        on_thread_end(event);
        break;
    case JVMPI_EVENT_HEAP_DUMP | JVMPI_REQUESTED_EVENT:
        (is_late ? on_late_dump : on_heap_dump)(event);
        break;
    case JVMPI_EVENT_OBJECT_DUMP | JVMPI_REQUESTED_EVENT:
        on_object_dump(event);
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        on_init_done();
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
    is_late = options && strstr(options, "late");
    if (is_late) {
        enable(JVMPI_EVENT_JVM_INIT_DONE);
    }
    enable(JVMPI_EVENT_CLASS_LOAD);
    enable(JVMPI_EVENT_CLASS_UNLOAD);
    enable(JVMPI_EVENT_THREAD_START);
    enable(JVMPI_EVENT_THREAD_END);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    return JNI_OK;
}
