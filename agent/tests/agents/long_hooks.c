/*
 * Makes redefinitions of a class `Redefined$Last` last three seconds. The agent is attached after Loadhook, so the JVM
 * calls its hook later.
 */
#include <jvmti.h>
#include <string.h>
#include <unistd.h>

static void JNICALL hook(jvmtiEnv *jvmti, JNIEnv *jni, jclass redefined, jobject loader, const char *name,
                         jobject domain, jint length, const unsigned char *bytes, jint *new_length,
                         unsigned char **new_bytes) {
    if (redefined && name && !strcmp(name, "Redefined$Last")) sleep(3);
}

JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *options, void *reserved) {
    jvmtiEnv *jvmti;
    jvmtiCapabilities capabilities;
    jvmtiEventCallbacks callbacks;
    memset(&capabilities, 0, sizeof capabilities);
    memset(&callbacks, 0, sizeof callbacks);
    capabilities.can_retransform_classes = 1;
    callbacks.ClassFileLoadHook = hook;
    if ((*vm)->GetEnv(vm, (void **) &jvmti, JVMTI_VERSION_11)) return 1;
    if ((*jvmti)->AddCapabilities(jvmti, &capabilities)) return 1;
    if ((*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks)) return 1;
    return (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, NULL) ? 1 : 0;
}
