/*
 * The parts that all judges share: the interface, complaints and the verdict, the judge's lock, and tables of ids.
 *
 * A judge prints its complaints, and numbers for comparison with the program's, to standard error. Lines are written
 * by write(2), because malloc and stdio are forbidden while threads are suspended.
 */
#ifndef JUDGE_H
#define JUDGE_H

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jvmpi.h"

#define CALL(function) (jvmpi->function)

/* The name of the judge, defined in its source. */
static const char *const judge;

static JVMPI_Interface *jvmpi;
static JVMPI_RawMonitor judge_lock;
static int complaints;

static void say_list(const char *kind, const char *format, va_list arguments) {
    char line[1024];
    int length = snprintf(line, sizeof line, "%s", kind);
    length += vsnprintf(line + length, sizeof line - length - 1, format, arguments);
    if (length > (int)sizeof line - 2) {
        length = sizeof line - 2;
    }
    line[length++] = '\n';
    if (write(2, line, length) != length) {
        abort();
    }
}

__attribute__((format(printf, 1, 2))) static inline void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say_list("", format, arguments);
    va_end(arguments);
}

/* Complaints by their text, each with the number of times that it was made. */
static struct {
    const char *format;
    int count;
} kinds[128];

/* Counts a complaint. Only the first of each kind are printed, since one fault of the layer may cause thousands. */
__attribute__((format(printf, 1, 2))) static inline void complain(const char *format, ...) {
    __sync_fetch_and_add(&complaints, 1);
    int kind = 0;
    while (kind < 127 && kinds[kind].format != format &&
           (kinds[kind].format || !__sync_bool_compare_and_swap(&kinds[kind].format, NULL, format))) {
        kind++;
    }
    if (__sync_add_and_fetch(&kinds[kind].count, 1) <= 3) {
        va_list arguments;
        va_start(arguments, format);
        say_list("complaint: ", format, arguments);
        va_end(arguments);
    }
}

#define EXPECT(condition, ...) ((condition) ? (void)0 : complain(__VA_ARGS__))

static inline void verdict(void) {
    for (int kind = 0; kind < 128; kind++) {
        if (kinds[kind].count > 3) {
            say("%d times: %s", kinds[kind].count, kinds[kind].format);
        }
    }
    say("verdict of %s: %d complaints", judge, complaints);
}

static inline void total(const char *name, long count) {
    say("total %s %ld", name, count);
}

/* Gets the interface, as the specification's example does. */
static inline jint begin(JavaVM *vm, void (*notify)(JVMPI_Event *)) {
    if ((*vm)->GetEnv(vm, (void **)&jvmpi, JVMPI_VERSION_1) < 0) {
        return JNI_ERR;
    }
    CALL(NotifyEvent) = notify;
    judge_lock = CALL(RawMonitorCreate)("_judge");
    return judge_lock ? JNI_OK : JNI_ERR;
}

static inline void enable(jint event) {
    jint result = CALL(EnableEvent)(event, NULL);
    EXPECT(result == JVMPI_SUCCESS, "EnableEvent(%d) returned %d", event, result);
}

static inline void lock(void) {
    CALL(RawMonitorEnter)(judge_lock);
}

static inline void unlock(void) {
    CALL(RawMonitorExit)(judge_lock);
}

/*
 * The judge's lock, taken from GC_START to GC_FINISH as the specification asks for, because the events in between must
 * not enter a monitor.
 */
static pthread_t collecting_thread;
static int is_collecting, collections;

static inline void on_gc_start(void) {
    lock();
    EXPECT(!is_collecting, "GC_START within a collection");
    collecting_thread = pthread_self();
    is_collecting = 1;
    collections++;
}

static inline void on_gc_finish(JVMPI_Event *event) {
    jlong objects = event->u.gc_info.used_objects;
    jlong used = event->u.gc_info.used_object_space, all = event->u.gc_info.total_object_space;
    if (!is_collecting) {
        complain("GC_FINISH without GC_START");
        return;
    }
    EXPECT(pthread_equal(collecting_thread, pthread_self()), "GC_FINISH in another thread than GC_START");
    EXPECT(used > 0 && used <= all, "GC_FINISH: %lld of %lld bytes are used", (long long)used, (long long)all);
    EXPECT(objects > 0 && objects <= used / 8, "GC_FINISH: %lld objects in %lld bytes", (long long)objects,
           (long long)used);
    is_collecting = 0;
    unlock();
}

/* Returns true in an event that GC_START and GC_FINISH must enclose. */
static inline int within_collection(void) {
    return is_collecting && pthread_equal(collecting_thread, pthread_self());
}

/* A table from ids to records, for callers that hold the lock. Removing allocates nothing. */
typedef struct {
    const void *key;
    void *value;
} Entry;

typedef struct {
    Entry *entries;
    size_t capacity, filled; /* filled: entries that are or were in use */
} Table;

#define REMOVED ((const void *)-1)

/* The entry of a key, or the first free one. */
static inline Entry *slot(Table *table, const void *key) {
    uint64_t hash = (uint64_t)(uintptr_t)key * 0x9E3779B97F4A7C15u;
    size_t at = (hash >> 32) & (table->capacity - 1);
    while (table->entries[at].key && table->entries[at].key != key) {
        at = (at + 1) & (table->capacity - 1);
    }
    return &table->entries[at];
}

static inline void *get(Table *table, const void *key) {
    return table->capacity ? slot(table, key)->value : NULL;
}

static inline void put(Table *table, const void *key, void *value) {
    if (table->filled * 2 >= table->capacity) {
        Table larger = {NULL, 64, 0};
        for (size_t i = 0; i < table->capacity; i++) {
            larger.filled += table->entries[i].value != NULL;
        }
        while (larger.capacity < larger.filled * 4) {
            larger.capacity *= 2;
        }
        larger.entries = calloc(larger.capacity, sizeof(Entry));
        for (size_t i = 0; i < table->capacity; i++) {
            if (table->entries[i].value) {
                *slot(&larger, table->entries[i].key) = table->entries[i];
            }
        }
        free(table->entries);
        *table = larger;
    }
    Entry *entry = slot(table, key);
    table->filled += entry->key == NULL;
    entry->key = key;
    entry->value = value;
}

static inline void *take(Table *table, const void *key) {
    void *value = get(table, key);
    if (value) {
        Entry *entry = slot(table, key);
        entry->key = REMOVED;
        entry->value = NULL;
    }
    return value;
}

#endif
