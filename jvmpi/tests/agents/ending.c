/*
 * A profiler that suspends each worker of the program while the worker is in its THREAD_END, and resumes it when the worker
 * has left this event. The worker must end after that. Environments are used again: a new thread must not be taken for
 * the old one.
 */
#include <unistd.h>

#include "classes.h"

static const char *const judge = "ending";

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static JNIEnv *volatile ending; /* the worker that waits in its THREAD_END to be suspended */
static volatile int is_suspended, is_over;
static int workers;

static void suspender(void *nothing) {
    (void)nothing;
    while (!is_over) {
        JNIEnv *env = ending;
        if (!env) {
            usleep(500);
            continue;
        }
        ending = NULL;
        jint result = -1;
        CALL(SuspendThreadList)(1, &env, &result);
        EXPECT(result == 0, "a thread in its THREAD_END is suspended with result %d", result);
        is_suspended = 1;
        usleep(10000);
        CALL(ResumeThreadList)(1, &env, &result);
        EXPECT(result == 0, "a thread that has left its THREAD_END is resumed with result %d", result);
    }
}

static int is_worker(JNIEnv *env) {
    Thread *thread = known_thread(env);
    return thread && strncmp(thread->name, "worker-", 7) == 0;
}

static void on_end(JVMPI_Event *event) {
    JNIEnv *env = event->env_id;
    EXPECT(CALL(GetThreadLocalStorage)(env) == env, "THREAD_END in a thread whose storage is lost");
    if (is_worker(env)) {
        pthread_mutex_lock(&turn);
        workers++;
        ending = env;
        for (int i = 0; i < 20000 && !is_suspended; i++) {
            usleep(500);
        }
        EXPECT(is_suspended, "nobody suspends a thread that ends");
        is_suspended = 0;
        pthread_mutex_unlock(&turn);
    }
    on_thread_end(event);
}

static void on_start(JVMPI_Event *event) {
    JNIEnv *env = event->u.thread_start.thread_env_id;
    on_thread_start(event);
    EXPECT(!CALL(GetThreadLocalStorage)(env), "a new thread has the storage of another one");
    EXPECT(CALL(GetThreadObject)(env) == event->u.thread_start.thread_id, "a new thread has the object of another one");
    CALL(SetThreadLocalStorage)(env, env);
}

static void notify(JVMPI_Event *event) {
    switch (event->event_type) {
    case JVMPI_EVENT_THREAD_START:
        on_start(event);
        break;
    case JVMPI_EVENT_THREAD_END:
        on_end(event);
        break;
    case JVMPI_EVENT_JVM_INIT_DONE:
        EXPECT(CALL(CreateSystemThread)("judge-suspender", JVMPI_NORMAL_PRIORITY, suspender) == JNI_OK,
               "CreateSystemThread");
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        is_over = 1;
        total("threads-worker", workers);
        verdict();
        break;
    default:
        complain("event %d is not enabled", event->event_type);
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)options;
    (void)reserved;
    if (begin(vm, notify) != JNI_OK) {
        return JNI_ERR;
    }
    enable(JVMPI_EVENT_THREAD_START);
    enable(JVMPI_EVENT_THREAD_END);
    enable(JVMPI_EVENT_JVM_INIT_DONE);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    return JNI_OK;
}
