/*
 * Delays the JVM's reports of compiled code. The report of a method `unreported` waits until a file `go` exists in the
 * folder that the options name. Reports come one after another, so those that follow wait, too. A file `begun` says
 * that the report waits.
 */
#include <jvmti.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char begun[4096], go[4096];

static void JNICALL compiled(jvmtiEnv *jvmti, jmethodID method, jint size, const void *code, jint places,
                             const jvmtiAddrLocationMap *map, const void *information) {
    char *name;
    if ((*jvmti)->GetMethodName(jvmti, method, &name, NULL, NULL)) return;
    int waits = !strcmp(name, "unreported");
    (*jvmti)->Deallocate(jvmti, (unsigned char *) name);
    if (!waits) return;
    FILE *file = fopen(begun, "w");
    if (file) fclose(file);
    while (access(go, F_OK)) usleep(1000);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved) {
    jvmtiEnv *jvmti;
    jvmtiCapabilities capabilities;
    jvmtiEventCallbacks callbacks;
    memset(&capabilities, 0, sizeof capabilities);
    memset(&callbacks, 0, sizeof callbacks);
    capabilities.can_generate_compiled_method_load_events = 1;
    callbacks.CompiledMethodLoad = compiled;
    snprintf(begun, sizeof begun, "%s/begun", options);
    snprintf(go, sizeof go, "%s/go", options);
    if ((*vm)->GetEnv(vm, (void **) &jvmti, JVMTI_VERSION_11)) return 1;
    if ((*jvmti)->AddCapabilities(jvmti, &capabilities)) return 1;
    if ((*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks)) return 1;
    return (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_COMPILED_METHOD_LOAD, NULL) ? 1 : 0;
}
