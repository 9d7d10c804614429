/*
 * A profiler of locks that are always contended. It follows the owners of each lock by METHOD_ENTRY2 of a method that
 * runs while the lock is held, and checks each MONITOR_CONTENDED_EXIT against that:
 *
 * - it is of a thread that has left the lock while another thread waited for it, and that does not wait to enter a
 *   monitor by now;
 * - it comes at most once for each time that the thread held the lock;
 * - at most one comes before each MONITOR_CONTENDED_ENTERED of the lock.
 *
 * How often threads meet at a lock depends on the scheduler. So in every second block of entries of `hold`, the judge
 * returns only when another thread has begun to wait for the lock, and lets that one have the lock next. Such a wait is
 * sure: its thread asked for the owner of the lock while there was one, unless it had asked just before the judge began
 * to wait.
 *
 * The layer holds up a thread for an exit that another thread is sending, but no longer than PATIENCE. If the sending
 * thread gets no processor for so long, the exit comes late. So a few late exits are no fault for each thread that was
 * held up as long: a late exit can also make the next exits of its thread and of its lock look wrong.
 */
#include <time.h>

#include "classes.h"

static const char *const judge = "hot_lock";

enum { MOST_LOCKS = 4, MOST_FIGHTERS = 16, FIGHTERS = 4, LATE_EXITS_OF_DELAY = 3, BLOCK = 32 };

/* In seconds, as in `announcing.rs`. */
static const double PATIENCE = 0.1;

/* The longest wait for another thread, in seconds. */
static const double LONGEST_MEETING = 60;

/* What a thread does with a lock. Numbers count the times that the lock was held. */
typedef struct {
    volatile long came; /* the number when the thread came to the lock last */
    volatile long held; /* the number that the thread had last */
    volatile int is_told; /* true if the exit of that time was told */
    volatile long sure; /* the number of the time for which another thread began to wait last while the judge waited */
    int has_met; /* true if another thread waited that time, and is to have the lock next */
} Visit;

typedef struct {
    JNIEnv *env;
    Visit visits[MOST_LOCKS];
    volatile jobjectID entering; /* the lock that the thread waits to enter */
    volatile int is_absent; /* true while the thread cannot begin to wait for a lock, though it does not wait */
    double since; /* the time of the thread's last event but exits */
} Fighter;

typedef struct {
    jobjectID id;
    volatile long holds;
    volatile int is_meeting; /* true while the owner waits until another thread waits for the lock */
    int exits; /* since the last MONITOR_CONTENDED_ENTERED */
} Lock;

static Lock locks[MOST_LOCKS];
static Fighter fighters[MOST_FIGHTERS];
static volatile int lock_count, fighter_count;
static long enters, entereds, exits, sure_waits, sure_exits, delays, late_exits;
static jmethodID fight, hold, end;
static JavaVM *jvm;

/* Returns the lock with this id, and makes it if there is none. */
static int lock_of(jobjectID id) {
    for (int i = 0; i < lock_count; i++) {
        if (locks[i].id == id) {
            return i;
        }
    }
    lock();
    int found = 0;
    while (found < lock_count && locks[found].id != id) {
        found++;
    }
    if (found == lock_count && found < MOST_LOCKS) {
        locks[found].id = id;
        lock_count++;
    }
    unlock();
    return found % MOST_LOCKS;
}

static Fighter *fighter_of(JNIEnv *env) {
    for (int i = 0; i < fighter_count; i++) {
        if (fighters[i].env == env) {
            return &fighters[i];
        }
    }
    return NULL;
}

/* Returns the record of the calling thread, which may be a virtual thread. */
static Fighter *me(JNIEnv *env) {
    Fighter *found = fighter_of(env);
    if (!found) {
        lock();
        found = &fighters[fighter_count % MOST_FIGHTERS];
        found->env = env;
        fighter_count++;
        unlock();
    }
    return found;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

/* Notes an event of the calling thread that the layer may have held up. */
static void on_step(Fighter *fighter) {
    double now = seconds();
    if (now - fighter->since >= PATIENCE) {
        __sync_fetch_and_add(&delays, 1);
    }
    fighter->since = now;
}

/* Counts an exit that is wrong unless it comes late. */
static void expect_late(int is_right, const char *complaint) {
    if (!is_right && __sync_add_and_fetch(&late_exits, 1) <= 10) {
        say("late? %s", complaint);
    }
}

/* Returns whether another thread may begin to wait for a lock. */
static int may_come(Fighter *but) {
    for (int i = 0; i < fighter_count; i++) {
        Fighter *other = &fighters[i];
        if (other != but && !other->entering && !other->is_absent) {
            return 1;
        }
    }
    return fighter_count < FIGHTERS;
}

static int is_awaited(Lock *lock) {
    for (int i = 0; i < fighter_count; i++) {
        if (fighters[i].entering == lock->id) {
            return 1;
        }
    }
    return 0;
}

/* Waits a little, unless the calling thread has waited for too long since `began`. */
static int goes_on(double began) {
    if (seconds() - began > LONGEST_MEETING) {
        complain("no other thread came to the lock");
        return 0;
    }
    nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    return 1;
}

/* Waits until another thread begins to wait for a lock, which the calling thread owns, or none can. */
static void meet(Fighter *fighter, Visit *visit, Lock *lock) {
    double began = seconds();
    fighter->is_absent = 1;
    __sync_lock_test_and_set(&lock->is_meeting, 1);
    while (lock->is_meeting && may_come(fighter) && goes_on(began)) {
    }
    if (!__sync_bool_compare_and_swap(&lock->is_meeting, 1, 0)) {
        visit->sure = visit->held;
    }
    visit->has_met = is_awaited(lock);
    fighter->is_absent = 0;
}

/* Waits until another thread owns a lock, which it waited for when the calling thread had the lock last. */
static void give_way(Visit *visit, Lock *lock) {
    double began = seconds();
    while (lock->holds == visit->held && goes_on(began)) {
    }
    visit->has_met = 0;
}

static void on_entry(JVMPI_Event *event) {
    jmethodID method = event->u.method_entry2.method_id;
    if (method == end) {
        me(event->env_id)->is_absent = 1;
        return;
    }
    if (method != fight && method != hold) {
        return;
    }
    Fighter *fighter = me(event->env_id);
    int number = lock_of(event->u.method_entry2.obj_id);
    Lock *lock = &locks[number];
    Visit *visit = &fighter->visits[number];
    if (method == fight) {
        if (visit->has_met) {
            give_way(visit, lock);
        }
        visit->came = lock->holds;
        fighter->since = seconds();
        return;
    }
    visit->is_told = 0;
    visit->held = ++lock->holds;
    if (visit->held / BLOCK % 2 == 0) {
        meet(fighter, visit, lock);
    }
}

static void on_exit_of_monitor(Fighter *fighter, int lock) {
    __sync_fetch_and_add(&exits, 1);
    if (!fighter) {
        complain("MONITOR_CONTENDED_EXIT of a thread that has not held the lock");
        return;
    }
    Visit *visit = &fighter->visits[lock];
    expect_late(!fighter->entering, "MONITOR_CONTENDED_EXIT of a thread that waits to enter a monitor");
    EXPECT(visit->held, "MONITOR_CONTENDED_EXIT of a thread that has not held this lock");
    expect_late(!visit->is_told, "MONITOR_CONTENDED_EXIT twice of a thread that has held the lock once");
    visit->is_told = 1;
    if (visit->held == visit->sure) {
        __sync_fetch_and_add(&sure_exits, 1);
    }
    int waiting = 0;
    for (int i = 0; i < fighter_count; i++) {
        Fighter *other = &fighters[i];
        waiting += other != fighter && other->entering == locks[lock].id && other->visits[lock].came <= visit->held;
    }
    expect_late(waiting, "MONITOR_CONTENDED_EXIT of a thread that left the lock when no other waited for it");
    expect_late(__sync_add_and_fetch(&locks[lock].exits, 1) == 1,
                "MONITOR_CONTENDED_EXIT twice before one MONITOR_CONTENDED_ENTERED");
}

static void on_monitor(JVMPI_Event *event) {
    jobjectID object = event->u.monitor.object;
    int lock = 0;
    while (lock < lock_count && locks[lock].id != object) {
        lock++;
    }
    if (lock == lock_count) {
        return; /* a monitor of the JVM's or the JDK's */
    }
    if (event->event_type == JVMPI_EVENT_MONITOR_CONTENDED_EXIT) {
        on_exit_of_monitor(fighter_of(event->env_id), lock);
        return;
    }
    JNIEnv *env = NULL;
    (*jvm)->GetEnv(jvm, (void **)&env, JNI_VERSION_1_2);
    EXPECT(env == event->env_id, "event %d in another thread than the one it names", event->event_type);
    Fighter *fighter = me(event->env_id);
    on_step(fighter);
    if (event->event_type == JVMPI_EVENT_MONITOR_CONTENDED_ENTER) {
        EXPECT(!fighter->entering, "MONITOR_CONTENDED_ENTER twice in one thread");
        fighter->entering = object;
        __sync_fetch_and_add(&enters, 1);
        if (__sync_bool_compare_and_swap(&locks[lock].is_meeting, 1, 0)) {
            __sync_fetch_and_add(&sure_waits, 1);
        }
        return;
    }
    EXPECT(fighter->entering == object, "MONITOR_CONTENDED_ENTERED without _ENTER");
    fighter->entering = NULL;
    locks[lock].exits = 0;
    __sync_fetch_and_add(&entereds, 1);
}

static void on_load(JVMPI_Event *event) {
    on_class_load(event);
    if (strncmp(event->u.class_load.class_name, "JudgedHot$", 10) == 0) {
        for (int i = 0; i < event->u.class_load.num_methods; i++) {
            JVMPI_Method *method = &event->u.class_load.methods[i];
            *(strcmp(method->method_name, "fight") == 0 ? &fight
              : strcmp(method->method_name, "hold") == 0 ? &hold
              : strcmp(method->method_name, "end") == 0  ? &end
                                                         : &(jmethodID){0}) = method->method_id;
        }
    }
}

static void on_shut_down(void) {
    EXPECT(enters == entereds, "%ld MONITOR_CONTENDED_ENTER, %ld _ENTERED", enters, entereds);
    EXPECT(late_exits <= LATE_EXITS_OF_DELAY * delays, "%ld wrong exits, but only %ld delays", late_exits, delays);
    total("enters", enters);
    total("exits", exits);
    total("sure waits", sure_waits);
    total("sure exits", sure_exits);
    long holds = 0;
    for (int i = 0; i < lock_count; i++) {
        holds += locks[i].holds;
    }
    total("holds", holds);
    verdict();
}

static void notify(JVMPI_Event *event) {
    switch (event->event_type) {
    case JVMPI_EVENT_CLASS_LOAD:
        on_load(event);
        break;
    case JVMPI_EVENT_METHOD_ENTRY2:
        on_entry(event);
        break;
    case JVMPI_EVENT_MONITOR_CONTENDED_ENTER:
    case JVMPI_EVENT_MONITOR_CONTENDED_ENTERED:
    case JVMPI_EVENT_MONITOR_CONTENDED_EXIT:
        on_monitor(event);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        on_shut_down();
        break;
    default:
        complain("event %d is not enabled", event->event_type);
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)options;
    (void)reserved;
    jvm = vm;
    if (begin(vm, notify) != JNI_OK) {
        return JNI_ERR;
    }
    enable(JVMPI_EVENT_CLASS_LOAD);
    enable(JVMPI_EVENT_METHOD_ENTRY2);
    enable(JVMPI_EVENT_MONITOR_CONTENDED_ENTER);
    enable(JVMPI_EVENT_MONITOR_CONTENDED_ENTERED);
    enable(JVMPI_EVENT_MONITOR_CONTENDED_EXIT);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    return JNI_OK;
}
