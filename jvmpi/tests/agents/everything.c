/*
 * A profiler that enables every event and uses every function, rightly and wrongly (`misuse.h`). A thread of its own
 * samples the stacks of the program's threads, as HPROF's cpu=samples did.
 *
 * Options: instructions enables INSTRUCTION_START while the program calls Judged.leaf and Judged.branches.
 */
#include "classes.h"
#include "misuse.h"

static const char *const judge = "everything";

enum { DEPTH = 64 };

static int counts[JVMPI_MAX_EVENT_TYPE_VAL + 1];
static int wants_instructions, samples, frames_sampled, is_initialised, is_shut_down;
static int leaf_instructions, branches_taken, table_keys, lookup_pairs;
static volatile int sampler_ended, sampler_is_wanted = 1, collection_is_wanted;
static Table objects, compiled, global_refs, weak_refs;
static JVMPI_RawMonitor pause_monitor;
static JavaVM *java_vm;

/* Calls under way by each of the two entry events, in the thread's local storage. */
typedef struct {
    int entries, entries2;
} Depth;

static Depth *depth_of(JNIEnv *env) {
    Depth *depth = CALL(GetThreadLocalStorage)(env);
    if (!depth) {
        depth = calloc(1, sizeof *depth);
        CALL(SetThreadLocalStorage)(env, depth);
    }
    return depth;
}

static void on_method(JVMPI_Event *event) {
    Method *method = method_of(event->u.method.method_id, "a method event");
    Depth *depth = depth_of(event->env_id);
    int is_calls = method && strcmp(method->name, "Judged.calls") == 0;
    switch (event->event_type) {
    case JVMPI_EVENT_METHOD_ENTRY:
        depth->entries++;
        break;
    case JVMPI_EVENT_METHOD_ENTRY2: {
        jobjectID object = event->u.method_entry2.obj_id;
        lock();
        int is_known = !object || get(&objects, object);
        unlock();
        EXPECT(is_known, "METHOD_ENTRY2 of %s: an unknown object", method ? method->name : "?");
        EXPECT(!is_calls || !object, "METHOD_ENTRY2 of the static method Judged.calls has an object");
        EXPECT(object || !method || !strstr(method->name, "Judged$Worker.run"), "METHOD_ENTRY2 of %s has no object",
               method->name);
        depth->entries2++;
        break;
    }
    default:
        EXPECT(depth->entries > 0 && depth->entries == depth->entries2, "METHOD_EXIT of %s: %d METHOD_ENTRY, %d _ENTRY2",
               method ? method->name : "?", depth->entries, depth->entries2);
        depth->entries--;
        depth->entries2--;
    }
}

/*
 * Between the loads of these two classes, the program calls Judged.leaf. A collection meanwhile wakes the thread of
 * java.lang.ref.Reference, which still runs its code without probes.
 */
static void step(const char *loaded) {
    if (wants_instructions && strcmp(loaded, "Judged") == 0) {
        enable(JVMPI_EVENT_INSTRUCTION_START);
        collection_is_wanted = 1;
    } else if (wants_instructions && strcmp(loaded, "Judged$Failing") == 0) {
        CALL(DisableEvent)(JVMPI_EVENT_INSTRUCTION_START, NULL);
    }
}

static void on_instruction(JVMPI_Event *event) {
    Method *method = method_of(event->u.instruction.method_id, "INSTRUCTION_START");
    if (method && strcmp(method->name, "Judged.leaf") == 0) {
        /* iload_0, iconst_1, iadd, ireturn */
        EXPECT(event->u.instruction.offset == leaf_instructions % 4, "INSTRUCTION_START: offset %d after %d instructions",
               event->u.instruction.offset, leaf_instructions);
        leaf_instructions++;
    } else if (method && strcmp(method->name, "Judged.branches") == 0) {
        /* Only the instruction says which member of the union counts. The program's switches have these numbers. */
        if (event->u.instruction.u.tableswitch_info.low == 5 && event->u.instruction.u.tableswitch_info.hi == 8) {
            table_keys += event->u.instruction.u.tableswitch_info.key;
        } else if (event->u.instruction.u.lookupswitch_info.pairs_total == 3) {
            lookup_pairs += event->u.instruction.u.lookupswitch_info.chosen_pair_index;
        } else {
            branches_taken += event->u.instruction.u.if_info.is_true;
        }
    }
}

static void on_object(JVMPI_Event *event) {
    lock();
    if (event->event_type == JVMPI_EVENT_OBJECT_FREE) {
        EXPECT(within_collection(), "OBJECT_FREE outside of a collection");
        EXPECT(take(&objects, event->u.obj_free.obj_id), "OBJECT_FREE of an unknown object");
    } else {
        EXPECT(event->u.obj_alloc.size >= 8, "OBJECT_ALLOC of %d bytes", event->u.obj_alloc.size);
        put(&objects, event->u.obj_alloc.obj_id, (void *)1);
    }
    unlock();
}

static void on_compiled(JVMPI_Event *event) {
    if (event->event_type == JVMPI_EVENT_COMPILED_METHOD_UNLOAD) {
        lock();
        EXPECT(get(&compiled, event->u.compiled_method_unload.method_id), "COMPILED_METHOD_UNLOAD without _LOAD");
        unlock();
        return;
    }
    jint size = event->u.compiled_method_load.code_size, lines = event->u.compiled_method_load.lineno_table_size;
    Method *method = method_of(event->u.compiled_method_load.method_id, "COMPILED_METHOD_LOAD");
    EXPECT(event->u.compiled_method_load.code_addr && size > 0, "COMPILED_METHOD_LOAD: %d bytes of code", size);
    EXPECT(lines == 0 || (lines > 0 && event->u.compiled_method_load.lineno_table), "a table of %d lines", lines);
    for (int i = 0; i < lines; i++) {
        JVMPI_Lineno *line = &event->u.compiled_method_load.lineno_table[i];
        EXPECT(line->offset >= 0 && line->offset <= size, "%s: a line at offset %d of %d bytes",
               method ? method->name : "?", line->offset, size);
        EXPECT(i == 0 || line->offset >= line[-1].offset, "%s: the lines are not sorted", method ? method->name : "?");
    }
    lock();
    put(&compiled, event->u.compiled_method_load.method_id, (void *)1);
    unlock();
}

static void on_reference(JVMPI_Event *event) {
    int is_weak = event->event_type >= JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC;
    int is_alloc = event->event_type == JVMPI_EVENT_JNI_GLOBALREF_ALLOC ||
                   event->event_type == JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC;
    Table *table = is_weak ? &weak_refs : &global_refs;
    lock();
    if (is_alloc) {
        EXPECT(event->u.jni_globalref_alloc.ref_id, "event %d without reference", event->event_type);
        EXPECT(get(&objects, event->u.jni_globalref_alloc.obj_id), "event %d of an unknown object", event->event_type);
        put(table, event->u.jni_globalref_alloc.ref_id, event->u.jni_globalref_alloc.obj_id);
    } else {
        take(table, event->u.jni_globalref_free.ref_id);
    }
    unlock();
}

static void *reference(Table *table, jobject ref) {
    lock();
    void *object = get(table, ref);
    unlock();
    return object;
}

/* Makes and deletes references by JNI, and converts between references and ids. */
static void use_references(JNIEnv *env) {
    jclass string = (*env)->FindClass(env, "java/lang/String");
    CALL(DisableGC)();
    jobjectID id = CALL(jobject2jobjectID)(string);
    Class *class = id ? known_class(id) : NULL;
    EXPECT(class && strcmp(class->name, "java.lang.String") == 0, "jobject2jobjectID of String is %p", (void *)id);
    jobject back = id ? CALL(jobjectID2jobject)(id) : NULL;
    EXPECT(back && (*env)->IsSameObject(env, string, back), "jobjectID2jobject gives another object");
    CALL(EnableGC)();
    jobject global = (*env)->NewGlobalRef(env, string);
    EXPECT(reference(&global_refs, global) == id, "JNI_GLOBALREF_ALLOC did not come, or with another object");
    (*env)->DeleteGlobalRef(env, global);
    EXPECT(!reference(&global_refs, global), "JNI_GLOBALREF_FREE did not come");
    jweak weak = (*env)->NewWeakGlobalRef(env, string);
    EXPECT(reference(&weak_refs, weak) == id, "JNI_WEAK_GLOBALREF_ALLOC did not come, or with another object");
    (*env)->DeleteWeakGlobalRef(env, weak);
    EXPECT(!reference(&weak_refs, weak), "JNI_WEAK_GLOBALREF_FREE did not come");
}

static void collect(void) {
    int before = counts[JVMPI_EVENT_GC_FINISH];
    CALL(RunGC)();
    EXPECT(counts[JVMPI_EVENT_GC_FINISH] > before, "RunGC caused no GC_FINISH");
    CALL(DisableGC)();
    CALL(DisableGC)();
    CALL(EnableGC)();
    CALL(EnableGC)();
}

/* Suspends all threads, takes their stacks, and resumes them. */
static void sample(JNIEnv *own) {
    JNIEnv *environments[64];
    jint results[64], count = 0;
    lock();
    for (size_t i = 0; i < threads.capacity && count < 64; i++) {
        if (threads.entries[i].value && threads.entries[i].key != own) {
            environments[count++] = (JNIEnv *)threads.entries[i].key;
        }
    }
    unlock();
    /* In the suspended mode nothing may block, so that frames are looked up only when all threads run again. */
    static JVMPI_CallFrame frames[64][DEPTH];
    static JVMPI_CallTrace traces[64];
    jint status[64];
    CALL(DisableGC)();
    if (samples % 2) {
        CALL(SuspendThreadList)(count, environments, results);
    }
    for (int i = 0; i < count; i++) {
        if (samples % 2 == 0) {
            CALL(SuspendThread)(environments[i]);
        }
        traces[i] = (JVMPI_CallTrace){environments[i], -1, frames[i]};
        CALL(GetCallTrace)(&traces[i], DEPTH);
        status[i] = CALL(GetThreadStatus)(environments[i]);
        CALL(ThreadHasRun)(environments[i]);
        if (samples % 2 == 0) {
            CALL(ResumeThread)(environments[i]);
        }
    }
    if (samples % 2) {
        CALL(ResumeThreadList)(count, environments, results);
    }
    CALL(EnableGC)();
    for (int i = 0; i < count; i++) {
        jint state = status[i] & ~(JVMPI_THREAD_SUSPENDED | JVMPI_THREAD_INTERRUPTED);
        EXPECT(traces[i].num_frames >= 0 && traces[i].num_frames <= DEPTH, "GetCallTrace: %d frames",
               traces[i].num_frames);
        EXPECT(!(status[i] & JVMPI_THREAD_SUSPENDED), "SuspendThread changes the status");
        EXPECT(state >= JVMPI_THREAD_RUNNABLE && state <= JVMPI_THREAD_CONDVAR_WAIT, "GetThreadStatus: %d", status[i]);
        check_trace(&traces[i], "GetCallTrace");
        frames_sampled += traces[i].num_frames;
    }
    samples++;
}

static void sampler(void *nothing) {
    (void)nothing;
    JNIEnv *env = NULL;
    EXPECT((*java_vm)->GetEnv(java_vm, (void **)&env, JNI_VERSION_1_2) == JNI_OK && env, "a system thread has no JNIEnv");
    EXPECT(known_thread(env) && strcmp(known_thread(env)->name, "judge-sampler") == 0,
           "the thread of CreateSystemThread has no THREAD_START by its name");
    misuse_live(env);
    use_references(env);
    collect();
    jlong before = CALL(GetCurrentThreadCpuTime)();
    while (sampler_is_wanted) {
        sample(env);
        if (collection_is_wanted) {
            collection_is_wanted = 0;
            collect();
        }
        CALL(RawMonitorEnter)(pause_monitor);
        CALL(RawMonitorWait)(pause_monitor, 5);
        CALL(RawMonitorExit)(pause_monitor);
    }
    EXPECT(before > 0 && CALL(GetCurrentThreadCpuTime)() > before, "GetCurrentThreadCpuTime stands still");
    sampler_ended = 1;
}

static void on_init_done(void) {
    EXPECT(!is_initialised, "JVM_INIT_DONE twice");
    is_initialised = 1;
    CALL(DisableEvent)(JVMPI_EVENT_INSTRUCTION_START, NULL);
    EXPECT(known_class(NULL) == NULL && classes.filled > 300, "%zu classes are known at JVM_INIT_DONE", classes.filled);
    EXPECT(threads.filled > 0, "no thread is known at JVM_INIT_DONE");
    EXPECT(objects.filled > 1000, "%zu objects are known at JVM_INIT_DONE", objects.filled);
    jint result = CALL(CreateSystemThread)("judge-sampler", JVMPI_MAXIMUM_PRIORITY, sampler);
    EXPECT(result == JNI_OK, "CreateSystemThread returned %d", result);
}

/* The events that the program is sure to cause. */
static const jint CERTAIN[] = {1, 2, 3, 4, 5, 7, 33, 34, 35, 38, 39, 40, 41, 42, 46, 47, 48, 54, 55, 56, 57, 58, 60, 61};

static void on_shut_down(void) {
    EXPECT(!is_shut_down, "JVM_SHUT_DOWN twice");
    is_shut_down = 1;
    sampler_is_wanted = 0;
    CALL(RawMonitorEnter)(pause_monitor);
    for (int i = 0; i < 1000 && !sampler_ended; i++) {
        CALL(RawMonitorWait)(pause_monitor, 10);
    }
    CALL(RawMonitorExit)(pause_monitor);
    EXPECT(sampler_ended, "the sampler does not end");
    EXPECT(samples > 0 && frames_sampled > 0, "%d samples have %d frames", samples, frames_sampled);
    for (size_t i = 0; runs_the_tests_program() && i < sizeof CERTAIN / sizeof *CERTAIN; i++) {
        EXPECT(counts[CERTAIN[i]] > 0, "event %d did not come", CERTAIN[i]);
    }
    for (int i = 1; i <= JVMPI_MAX_EVENT_TYPE_VAL; i++) {
        if (counts[i]) {
            say("event %d came %d times", i, counts[i]);
        }
    }
    total("leaf-instructions", leaf_instructions);
    total("branches-taken", branches_taken);
    total("table-keys", table_keys);
    total("lookup-pairs", lookup_pairs);
    verdict();
}

static void notify(JVMPI_Event *event) {
    jint type = event->event_type & ~JVMPI_REQUESTED_EVENT;
    if (type < 1 || type > JVMPI_MAX_EVENT_TYPE_VAL) {
        complain("event %d", event->event_type);
        return;
    }
    __sync_fetch_and_add(&counts[type], 1);
    switch (type) {
    case JVMPI_EVENT_METHOD_ENTRY:
    case JVMPI_EVENT_METHOD_ENTRY2:
    case JVMPI_EVENT_METHOD_EXIT:
        on_method(event);
        break;
    case JVMPI_EVENT_INSTRUCTION_START:
        on_instruction(event);
        break;
    case JVMPI_EVENT_OBJECT_ALLOC:
    case JVMPI_EVENT_OBJECT_FREE:
        on_object(event);
        break;
    case JVMPI_EVENT_COMPILED_METHOD_LOAD:
    case JVMPI_EVENT_COMPILED_METHOD_UNLOAD:
        on_compiled(event);
        break;
    case JVMPI_EVENT_JNI_GLOBALREF_ALLOC:
    case JVMPI_EVENT_JNI_GLOBALREF_FREE:
    case JVMPI_EVENT_JNI_WEAK_GLOBALREF_ALLOC:
    case JVMPI_EVENT_JNI_WEAK_GLOBALREF_FREE:
        on_reference(event);
        break;
    case JVMPI_EVENT_CLASS_LOAD:
        on_class_load(event);
        step(event->u.class_load.class_name);
        break;
    case JVMPI_EVENT_CLASS_UNLOAD:
        on_class_unload(event);
        break;
    case JVMPI_EVENT_CLASS_LOAD_HOOK:
        event->u.class_load_hook.new_class_data = event->u.class_load_hook.class_data;
        event->u.class_load_hook.new_class_data_len = event->u.class_load_hook.class_data_len;
        break;
    case JVMPI_EVENT_THREAD_START:
        on_thread_start(event);
        break;
    case JVMPI_EVENT_THREAD_END:
        on_thread_end(event);
        break;
    case JVMPI_EVENT_GC_START:
        on_gc_start();
        break;
    case JVMPI_EVENT_GC_FINISH:
        on_gc_finish(event);
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        on_init_done();
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        on_shut_down();
        break;
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    EXPECT(!reserved, "JVM_OnLoad: the reserved argument is not NULL");
    java_vm = vm;
    wants_instructions = options && strstr(options, "instructions");
    if (begin(vm, notify) != JNI_OK) {
        return JNI_ERR;
    }
    pause_monitor = CALL(RawMonitorCreate)("_judge-pause");
    misuse_on_load(vm);
    for (jint event = 1; event <= JVMPI_MAX_EVENT_TYPE_VAL; event++) {
        if (is_event(event) && (event != JVMPI_EVENT_INSTRUCTION_START || wants_instructions)) {
            enable(event);
        }
    }
    return JNI_OK;
}
