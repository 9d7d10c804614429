/*
 * A profiler of call graphs: METHOD_ENTRY (or ENTRY2) and METHOD_EXIT must pair on each thread, and every method and
 * thread must have been defined before. Prints the number of calls on each edge of the program.
 *
 * Options: entry2 uses METHOD_ENTRY2; ask does not enable CLASS_LOAD, but requests the class of each unknown method.
 */
#include "classes.h"

static const char *const judge = "callgraph";

typedef struct {
    Method **calls;
    int depth, capacity;
} Stack;

typedef struct {
    Method *caller, *callee;
    long count;
} Edge;

static Edge *edges;
static int edge_count, edge_capacity;
static volatile int is_over;
static int asks, thread_count, worker_count, contender_count;
static Table callers_of; /* from a method to a Table from its callers to indexes of edges, plus one */

static void count_edge(Method *caller, Method *callee) {
    lock();
    Table *callers = get(&callers_of, callee);
    if (!callers) {
        callers = calloc(1, sizeof *callers);
        put(&callers_of, callee, callers);
    }
    intptr_t index = (intptr_t)get(callers, caller);
    if (!index) {
        if (edge_count == edge_capacity) {
            edge_capacity = edge_capacity ? 2 * edge_capacity : 1024;
            edges = realloc(edges, edge_capacity * sizeof *edges);
        }
        edges[edge_count] = (Edge){caller, callee, 0};
        index = ++edge_count;
        put(callers, caller, (void *)index);
    }
    edges[index - 1].count++;
    unlock();
}

static Stack *stack_of(JNIEnv *env) {
    Stack *stack = CALL(GetThreadLocalStorage)(env);
    if (!stack) {
        complain("a method event in a thread without THREAD_START");
        stack = calloc(1, sizeof *stack);
        CALL(SetThreadLocalStorage)(env, stack);
    }
    return stack;
}

static void on_entry(JVMPI_Event *event) {
    /* Both events have the method at the same place. */
    Method *method = asks ? method_of(event->u.method.method_id, "METHOD_ENTRY")
                          : known_method(event->u.method.method_id);
    if (!method || !event->env_id) {
        complain("METHOD_ENTRY: unknown method id %p, or no thread", (void *)event->u.method.method_id);
        return;
    }
    Stack *stack = stack_of(event->env_id);
    if (stack->depth == stack->capacity) {
        stack->capacity = stack->capacity ? 2 * stack->capacity : 64;
        stack->calls = realloc(stack->calls, stack->capacity * sizeof *stack->calls);
    }
    count_edge(stack->depth ? stack->calls[stack->depth - 1] : NULL, method);
    stack->calls[stack->depth++] = method;
}

static void on_exit_of_method(JVMPI_Event *event) {
    Method *method = known_method(event->u.method.method_id);
    if (!method || !event->env_id) {
        complain("METHOD_EXIT: unknown method id %p, or no thread", (void *)event->u.method.method_id);
        return;
    }
    Stack *stack = stack_of(event->env_id);
    if (!stack->depth) {
        complain("METHOD_EXIT of %s on an empty stack", method->name);
        return;
    }
    if (stack->calls[stack->depth - 1] == method) {
        stack->depth--;
        return;
    }
    complain("METHOD_EXIT of %s, but %s is on top", method->name, stack->calls[stack->depth - 1]->name);
    for (int i = stack->depth - 1; i >= 0; i--) {
        if (stack->calls[i] == method) {
            stack->depth = i;
            return;
        }
    }
}

static void on_start(JVMPI_Event *event) {
    on_thread_start(event);
    Stack *stack = calloc(1, sizeof *stack);
    CALL(SetThreadLocalStorage)(event->u.thread_start.thread_env_id, stack);
    EXPECT(CALL(GetThreadLocalStorage)(event->u.thread_start.thread_env_id) == stack, "the thread's storage is lost");
    thread_count++;
    if (event->u.thread_start.thread_name) {
        worker_count += strncmp(event->u.thread_start.thread_name, "worker-", 7) == 0;
        contender_count += strcmp(event->u.thread_start.thread_name, "contender") == 0;
    }
}

static void on_end(JVMPI_Event *event) {
    Stack *stack = CALL(GetThreadLocalStorage)(event->env_id);
    EXPECT(stack, "THREAD_END in a thread whose storage is lost");
    if (stack && stack->depth) {
        complain("THREAD_END while %s runs, with %d calls on the stack", stack->calls[stack->depth - 1]->name,
                 stack->depth);
    }
    on_thread_end(event);
}

static void on_shut_down(void) {
    lock();
    long calls = 0;
    for (int i = 0; i < edge_count; i++) {
        Edge *edge = &edges[i];
        calls += edge->count;
        if (edge->caller && is_of_program(edge->caller->name) && is_of_program(edge->callee->name)) {
            say("edge %s > %s %ld", edge->caller->name, edge->callee->name, edge->count);
        }
    }
    unlock();
    total("calls", calls);
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
        on_end(event);
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
