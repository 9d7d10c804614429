/*
 * Call stacks by thread: METHOD_ENTRY (or ENTRY2) and METHOD_EXIT must pair on each thread, and every method and thread
 * must have been defined before. Counts the calls on each edge.
 */
#ifndef CALLS_H
#define CALLS_H

#include "classes.h"

typedef struct {
    Method **calls;
    int depth, capacity;
    jlong cpu_time; /* at the last event that looked */
} Stack;

typedef struct {
    Method *caller, *callee;
    long count;
} Edge;

static Edge *edges;
static int edge_count, edge_capacity;
static int asks; /* true if unknown methods are asked for by RequestEvent */
static Table callers_of; /* from a method to a Table from its callers to indexes of edges, plus one */

static inline void count_edge(Method *caller, Method *callee) {
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

static inline Stack *stack_of(JNIEnv *env) {
    Stack *stack = CALL(GetThreadLocalStorage)(env);
    if (!stack) {
        complain("a method event in a thread without THREAD_START");
        stack = calloc(1, sizeof *stack);
        CALL(SetThreadLocalStorage)(env, stack);
    }
    return stack;
}

static inline void on_entry(JVMPI_Event *event) {
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

static inline void on_exit_of_method(JVMPI_Event *event) {
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

/* Gives the thread of a THREAD_START its stack. */
static inline void begin_stack(JVMPI_Event *event) {
    on_thread_start(event);
    Stack *stack = calloc(1, sizeof *stack);
    CALL(SetThreadLocalStorage)(event->u.thread_start.thread_env_id, stack);
    EXPECT(CALL(GetThreadLocalStorage)(event->u.thread_start.thread_env_id) == stack, "the thread's storage is lost");
}

/* Frees the stack of a thread at its THREAD_END. */
static inline void end_stack(JVMPI_Event *event) {
    Stack *stack = CALL(GetThreadLocalStorage)(event->env_id);
    EXPECT(stack, "THREAD_END in a thread whose storage is lost");
    if (stack && stack->depth) {
        complain("THREAD_END while %s runs, with %d calls on the stack", stack->calls[stack->depth - 1]->name,
                 stack->depth);
    }
    if (stack) {
        free(stack->calls);
        free(stack);
    }
    on_thread_end(event);
}

/* Prints the edges between methods of the test's program, and the number of all calls. */
static inline void print_edges(void) {
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
}

#endif
