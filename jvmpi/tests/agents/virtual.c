/*
 * A profiler that sees virtual threads as threads: entries and exits pair on each of them, wherever their carriers are;
 * JNI works through their environments; their stacks, processor times and states are their own; a thread of the judge
 * suspends them. While the program calls JudgedVirtual.dumped, it dumps monitors and the heap.
 *
 * Options: many enables the events of threads only, for programs with very many.
 */
#include "calls.h"
#include "reader.h"

static const char *const judge = "virtual";

enum { DEPTH = 64, SAMPLED = 8, EVERY = 16, MOST_GROWTH = 64 };

static JavaVM *java_vm;
static Table objects; /* from objects to their class */
static JVMPI_RawMonitor pause_monitor;
static volatile int is_over, sampler_is_wanted = 1, sampler_ended;
static int wants_many, started, ended, at_once, most_at_once, entries_of_inner, checks, samples;
static int held_monitors, locals_of_parked;
static long early_pages;

static int is_virtual(const char *name) {
    return strncmp(name, "virtual-", 8) == 0;
}

static int is_named(JNIEnv *env, const char *name) {
    Thread *thread = env ? known_thread(env) : NULL;
    return thread && strcmp(thread->name, name) == 0;
}

/* Returns the class of an object, which it learns by a requested OBJECT_ALLOC. */
static const char *class_name(jobjectID object) {
    jint result = CALL(RequestEvent)(JVMPI_EVENT_OBJECT_ALLOC, object);
    EXPECT(result == JVMPI_SUCCESS, "RequestEvent(OBJECT_ALLOC) returned %d", result);
    lock();
    Class *class = get(&objects, object);
    unlock();
    return class ? class->name : "";
}

static void on_alloc(JVMPI_Event *event) {
    Class *class = event->u.obj_alloc.class_id ? class_of(event->u.obj_alloc.class_id, "OBJECT_ALLOC") : NULL;
    if (class) {
        lock();
        put(&objects, event->u.obj_alloc.obj_id, class);
        unlock();
    }
}

/* Calls JNI through the environment of an event: functions with any number of arguments, and with floating point. */
static void check_jni(JNIEnv *env, jmethodID method) {
    JNIEnv *own = NULL;
    jint answer = (*java_vm)->GetEnv(java_vm, (void **)&own, JNI_VERSION_1_2);
    EXPECT(answer == JNI_OK && own == env, "GetEnv gives %p in the thread %p", (void *)own, (void *)env);
    if ((*env)->PushLocalFrame(env, 16) != 0) {
        complain("PushLocalFrame fails");
        return;
    }
    /* FindClass sees the classes of the layer's loader here. */
    jclass program = CALL(jobjectID2jobject)(CALL(GetMethodClass)(method));
    jmethodID mix = program ? (*env)->GetStaticMethodID(env, program, "mix", "(IDJLjava/lang/String;FIID)D") : NULL;
    jmethodID current = program ? (*env)->GetStaticMethodID(env, program, "current", "()Ljava/lang/Thread;") : NULL;
    jstring text = (*env)->NewStringUTF(env, "four");
    jmethodID nap = program ? (*env)->GetStaticMethodID(env, program, "nap", "()V") : NULL;
    if (!mix || !current || !nap || !text) {
        complain("JNI does not find the methods of the program");
        (*env)->ExceptionClear(env);
    } else {
        jdouble sum = (*env)->CallStaticDoubleMethod(env, program, mix, 1, 2.5, (jlong)3, text, 0.5, 6, 7, 8.25);
        EXPECT(!(*env)->ExceptionCheck(env) && sum == 32.25, "a call with many arguments returns %f", sum);
        jobject thread = (*env)->CallStaticObjectMethod(env, program, current);
        EXPECT(!(*env)->ExceptionCheck(env) && CALL(jobject2jobjectID)(thread) == CALL(GetThreadObject)(env),
               "GetThreadObject is not the current thread");
        /* The JVM reports that the thread is unmounted and mounted, but this function keeps it on its carrier. */
        (*env)->CallStaticVoidMethod(env, program, nap);
        EXPECT(!(*env)->ExceptionCheck(env) && CALL(jobject2jobjectID)(thread) == CALL(GetThreadObject)(env),
               "GetThreadObject is not the current thread after a nap");
    }
    (*env)->PopLocalFrame(env, NULL);
}

/* Checks that the frames of the program in the thread's trace are the calls that were entered and not left. */
static void check_calls(JNIEnv *env, Stack *stack) {
    JVMPI_CallFrame frames[DEPTH];
    JVMPI_CallTrace trace = {env, 0, frames};
    CALL(GetCallTrace)(&trace, DEPTH);
    int call = stack->depth - 1;
    for (int i = 0; i < trace.num_frames; i++) {
        Method *method = method_of(frames[i].method_id, "GetCallTrace");
        if (!method || !is_of_program(method->name)) {
            continue;
        }
        while (call >= 0 && !is_of_program(stack->calls[call]->name)) {
            call--;
        }
        EXPECT(call >= 0 && stack->calls[call] == method, "GetCallTrace shows %s, but %s was entered", method->name,
               call >= 0 ? stack->calls[call]->name : "no method");
        call--;
    }
    EXPECT(trace.num_frames > 0 && call < stack->depth - 1, "GetCallTrace: %d frames", trace.num_frames);
}

/* Looks at the thread in one of its events. */
static void check_thread(JNIEnv *env, jmethodID method) {
    Stack *stack = stack_of(env);
    jlong now = CALL(GetCurrentThreadCpuTime)();
    EXPECT(now >= stack->cpu_time, "the processor time goes back from %lld to %lld", (long long)stack->cpu_time,
           (long long)now);
    stack->cpu_time = now;
    EXPECT(CALL(GetThreadStatus)(env) == JVMPI_THREAD_RUNNABLE, "a thread in its event has the status %d",
           CALL(GetThreadStatus)(env));
    check_calls(env, stack);
    check_jni(env, method);
    __sync_fetch_and_add(&checks, 1);
}

static void request(jint event) {
    jint result = CALL(RequestEvent)(event, NULL);
    EXPECT(result == JVMPI_SUCCESS, "RequestEvent(%d) returned %d", event, result);
}

/* The JDK may call methods of these classes while it mounts a virtual thread. A look at a stack would then never end. */
static int may_mount(const char *name) {
    static const char *const CLASSES[] = {"jdk.internal.misc.Unsafe.", "jdk.internal.vm.", "java.lang.System$",
                                          "java.lang.Thread.", "java.lang.VirtualThread"};
    for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES; i++) {
        if (strncmp(name, CLASSES[i], strlen(CLASSES[i])) == 0) {
            return 1;
        }
    }
    return 0;
}

static void on_method_entry(JVMPI_Event *event) {
    on_entry(event);
    Method *method = known_method(event->u.method.method_id);
    if (!method) {
        return;
    }
    if (may_mount(method->name)) {
        JVMPI_CallFrame frame;
        JVMPI_CallTrace trace = {event->env_id, 0, &frame};
        CALL(GetCallTrace)(&trace, 1);
    } else if (strcmp(method->name, "JudgedVirtual.inner") == 0) {
        if (__sync_fetch_and_add(&entries_of_inner, 1) % EVERY == 0) {
            check_thread(event->env_id, event->u.method.method_id);
        }
    } else if (strcmp(method->name, "JudgedVirtual.dumped") == 0) {
        request(JVMPI_EVENT_MONITOR_DUMP);
        request(JVMPI_EVENT_HEAP_DUMP);
    }
}

/* Returns whether one of the threads of a list has this name. */
static int has_thread(Reader *reader, const char *name) {
    int found = 0;
    uint32_t count = number(reader, 4);
    for (uint32_t i = 0; i < count && reader->at < reader->end; i++) {
        JNIEnv *env = pointer(reader);
        EXPECT(known_thread(env), "MONITOR_DUMP: a thread is unknown");
        found += is_named(env, name);
    }
    return found;
}

static void on_monitor_dump(JVMPI_Event *event) {
    Reader reader = reader_of("MONITOR_DUMP", event->u.monitor_dump.begin, event->u.monitor_dump.end);
    while (reader.at < reader.end) {
        int is_java = number(&reader, 1) == JVMPI_MONITOR_JAVA;
        void *id = pointer(&reader);
        const char *name = is_java ? class_name(id) : "";
        if (!is_java) {
            pointer(&reader);
        }
        JNIEnv *owner = pointer(&reader);
        uint32_t count = number(&reader, 4);
        int blocked = has_thread(&reader, "virtual-blocked"), waiter = has_thread(&reader, "virtual-waiter");
        if (strcmp(name, "JudgedVirtual$Held") == 0) {
            EXPECT(is_named(owner, "virtual-holder") && count == 1 && blocked == 1 && waiter == 0,
                   "MONITOR_DUMP: the owner of the held lock is %s, entered %u times, %d wait to enter",
                   owner && known_thread(owner) ? known_thread(owner)->name : "not known", count, blocked);
            held_monitors++;
        } else if (strcmp(name, "JudgedVirtual$Condition") == 0) {
            EXPECT(waiter == 1, "MONITOR_DUMP: %d threads wait in the condition", waiter);
        }
    }
    int states = 0;
    for (int i = 0; i < event->u.monitor_dump.num_traces; i++) {
        JVMPI_CallTrace *trace = &event->u.monitor_dump.traces[i];
        jint status = event->u.monitor_dump.threads_status[i];
        check_trace(trace, "MONITOR_DUMP");
        states += is_named(trace->env_id, "virtual-blocked") && status == JVMPI_THREAD_MONITOR_WAIT;
        states += is_named(trace->env_id, "virtual-waiter") && status == JVMPI_THREAD_CONDVAR_WAIT;
        states += is_named(trace->env_id, "virtual-parked") && status == JVMPI_THREAD_CONDVAR_WAIT;
    }
    EXPECT(states == 3, "MONITOR_DUMP: %d of 3 virtual threads have the right state", states);
}

/* Reads the records of roots, which come first. */
static void on_heap_dump(JVMPI_Event *event) {
    Reader reader = reader_of("HEAP_DUMP", event->u.heap_dump.begin, event->u.heap_dump.end);
    while (reader.at < reader.end) {
        int tag = number(&reader, 1);
        void *id = pointer(&reader);
        switch (tag) {
        case JVMPI_GC_ROOT_JNI_LOCAL:
        case JVMPI_GC_ROOT_JAVA_FRAME: {
            JNIEnv *env = pointer(&reader);
            int frame = number(&reader, 4);
            EXPECT(known_thread(env), "HEAP_DUMP: a root of an unknown thread");
            EXPECT(frame == -1 || frame > 0, "HEAP_DUMP: the frame %d", frame);
            if (is_named(env, "virtual-parked") && strcmp(class_name(id), "JudgedVirtual$Local") == 0) {
                locals_of_parked++;
            }
            break;
        }
        case JVMPI_GC_ROOT_NATIVE_STACK:
        case JVMPI_GC_ROOT_THREAD_BLOCK:
        case JVMPI_GC_ROOT_JNI_GLOBAL:
            pointer(&reader);
            break;
        case JVMPI_GC_ROOT_UNKNOWN:
        case JVMPI_GC_ROOT_STICKY_CLASS:
        case JVMPI_GC_ROOT_MONITOR_USED:
            break;
        default:
            return;
        }
    }
}

/* Suspends some virtual threads, takes their stacks, and resumes them. */
static void sample(void) {
    static JVMPI_CallFrame frames[SAMPLED][DEPTH];
    JVMPI_CallTrace traces[SAMPLED];
    JNIEnv *environments[SAMPLED];
    jint status[SAMPLED], count = 0;
    lock();
    for (size_t i = samples % 7; i < threads.capacity && count < SAMPLED; i++) {
        Thread *thread = threads.entries[i].value;
        if (thread && is_virtual(thread->name)) {
            environments[count++] = (JNIEnv *)threads.entries[i].key;
        }
    }
    unlock();
    CALL(DisableGC)();
    for (int i = 0; i < count; i++) {
        CALL(SuspendThread)(environments[i]);
        traces[i] = (JVMPI_CallTrace){environments[i], 0, frames[i]};
        CALL(GetCallTrace)(&traces[i], DEPTH);
        status[i] = CALL(GetThreadStatus)(environments[i]);
        CALL(ThreadHasRun)(environments[i]);
        CALL(ResumeThread)(environments[i]);
    }
    CALL(EnableGC)();
    for (int i = 0; i < count; i++) {
        EXPECT(!(status[i] & JVMPI_THREAD_SUSPENDED), "SuspendThread changes the status");
        check_trace(&traces[i], "GetCallTrace of a suspended thread");
    }
    samples += count;
}

static void sampler(void *nothing) {
    (void)nothing;
    while (sampler_is_wanted) {
        sample();
        CALL(RawMonitorEnter)(pause_monitor);
        CALL(RawMonitorWait)(pause_monitor, 2);
        CALL(RawMonitorExit)(pause_monitor);
    }
    sampler_ended = 1;
}

static void on_init_done(void) {
    if (wants_many) {
        sampler_ended = 1;
        return;
    }
    EXPECT(CALL(CreateSystemThread)("judge-sampler", JVMPI_NORMAL_PRIORITY, sampler) == JNI_OK, "CreateSystemThread");
}

static long pages(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    long size = 0, resident = 0;
    if (file) {
        if (fscanf(file, "%ld %ld", &size, &resident) != 2) {
            complain("/proc/self/statm has no sizes");
        }
        fclose(file);
    }
    return resident;
}

static void on_start(JVMPI_Event *event) {
    begin_stack(event);
    if (is_virtual(event->u.thread_start.thread_name)) {
        EXPECT(event->env_id == event->u.thread_start.thread_env_id, "THREAD_START of another thread");
        lock();
        started++;
        at_once++;
        most_at_once = at_once > most_at_once ? at_once : most_at_once;
        unlock();
    }
}

static void on_end(JVMPI_Event *event) {
    Thread *thread = known_thread(event->env_id);
    if (thread && is_virtual(thread->name)) {
        lock();
        at_once--;
        if (++ended == 20000) {
            early_pages = pages();
        }
        unlock();
        /* An object is searched among all that have ids, which takes too long for many threads. */
        jint result = wants_many ? JVMPI_SUCCESS : CALL(RequestEvent)(JVMPI_EVENT_THREAD_START, thread->object);
        EXPECT(result == JVMPI_SUCCESS, "RequestEvent(THREAD_START) of a virtual thread returned %d", result);
    }
    end_stack(event);
}

static void on_shut_down(void) {
    sampler_is_wanted = 0;
    CALL(RawMonitorEnter)(pause_monitor);
    for (int i = 0; i < 1000 && !sampler_ended; i++) {
        CALL(RawMonitorWait)(pause_monitor, 10);
    }
    CALL(RawMonitorExit)(pause_monitor);
    EXPECT(sampler_ended, "the sampler does not end");
    print_edges();
    total("virtual-started", started);
    total("virtual-ended", ended);
    say("%d at once, %d checks, %d samples, %d roots", most_at_once, checks, samples, locals_of_parked);
    if (wants_many) {
        long growth = (pages() - early_pages) / 256;
        say("%ld MiB more than after 20000 threads", growth);
        EXPECT(growth < MOST_GROWTH, "%ld MiB more for ended threads", growth);
    } else {
        EXPECT(started == 0 || (checks > 0 && samples > 0), "%d checks, %d samples", checks, samples);
        EXPECT(started == 0 || held_monitors == 1, "MONITOR_DUMP has %d held monitors", held_monitors);
        EXPECT(started == 0 || locals_of_parked > 0, "HEAP_DUMP has no local variable of the parked thread");
    }
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
    case JVMPI_EVENT_OBJECT_ALLOC | JVMPI_REQUESTED_EVENT:
        on_alloc(event);
        break;
    case JVMPI_EVENT_THREAD_START:
        on_start(event);
        break;
    case JVMPI_EVENT_THREAD_START | JVMPI_REQUESTED_EVENT:
        EXPECT(known_thread(event->u.thread_start.thread_env_id), "a requested THREAD_START of another thread");
        break;
    case JVMPI_EVENT_THREAD_END:
        on_end(event);
        break;
    case JVMPI_EVENT_METHOD_ENTRY:
        on_method_entry(event);
        break;
    case JVMPI_EVENT_METHOD_EXIT:
        on_exit_of_method(event);
        break;
    case JVMPI_EVENT_MONITOR_DUMP | JVMPI_REQUESTED_EVENT:
        on_monitor_dump(event);
        break;
    case JVMPI_EVENT_HEAP_DUMP | JVMPI_REQUESTED_EVENT:
        on_heap_dump(event);
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        on_init_done();
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        is_over = 1;
        CALL(DisableEvent)(JVMPI_EVENT_METHOD_ENTRY, NULL);
        CALL(DisableEvent)(JVMPI_EVENT_METHOD_EXIT, NULL);
        on_shut_down();
        break;
    default:
        complain("event %d is not enabled", event->event_type);
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    java_vm = vm;
    if (begin(vm, notify) != JNI_OK) {
        return JNI_ERR;
    }
    pause_monitor = CALL(RawMonitorCreate)("_judge-pause");
    wants_many = options && strstr(options, "many");
    if (!wants_many) {
        enable(JVMPI_EVENT_CLASS_LOAD);
        enable(JVMPI_EVENT_METHOD_ENTRY);
        enable(JVMPI_EVENT_METHOD_EXIT);
    }
    enable(JVMPI_EVENT_THREAD_START);
    enable(JVMPI_EVENT_THREAD_END);
    enable(JVMPI_EVENT_JVM_INIT_DONE);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    return JNI_OK;
}
