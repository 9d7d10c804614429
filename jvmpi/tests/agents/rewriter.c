/*
 * A rewriter of classes: replaces a string in one class, damages another, and leaves the others as they are.
 *
 * Options: copies returns a copy of every class in memory of malloc_f; untouched leaves new_class_data as the VM set it,
 * against the specification.
 */
#include "classes.h"

static const char *const judge = "rewriter";

static const char ORIGINAL[] = "original text", REPLACED[] = "text of the rewriter, which is longer";

static int copies, leaves_untouched, hooks, hooks_of_program, replaced, damaged;

static unsigned u2(const unsigned char *at) {
    return at[0] << 8 | at[1];
}

/* Returns the place of the constant with this text in the pool, or NULL. Complains about bytes that are no class. */
static const unsigned char *find_text(const unsigned char *data, jint length, const char *text) {
    size_t size = strlen(text);
    if (length < 10 || memcmp(data, "\xCA\xFE\xBA\xBE", 4) != 0) {
        complain("CLASS_LOAD_HOOK: %d bytes that begin with no magic number", length);
        return NULL;
    }
    const unsigned char *at = data + 10, *end = data + length;
    for (unsigned i = 1, count = u2(data + 8); i < count && at + 3 <= end; i++) {
        switch (*at) {
        case 1: /* Utf8 */
            if (u2(at + 1) == size && at + 3 + size <= end && memcmp(at + 3, text, size) == 0) {
                return at;
            }
            at += 3 + u2(at + 1);
            break;
        case 5: /* Long and Double take two indexes */
        case 6:
            at += 9;
            i++;
            break;
        case 7: /* Class, String, MethodType, Module, Package */
        case 8:
        case 16:
        case 19:
        case 20:
            at += 3;
            break;
        case 15: /* MethodHandle */
            at += 4;
            break;
        default:
            at += 5;
        }
    }
    EXPECT(at <= end, "CLASS_LOAD_HOOK: the constants end behind the class");
    return NULL;
}

/* Allocates memory by malloc_f, and makes it the event's new class. Returns the memory, for the caller to fill. */
static unsigned char *answer(JVMPI_Event *event, jint length) {
    unsigned char *memory = event->u.class_load_hook.malloc_f((unsigned)length);
    if (!memory) {
        complain("malloc_f(%d) returned NULL", length);
        abort();
    }
    event->u.class_load_hook.new_class_data = memory;
    event->u.class_load_hook.new_class_data_len = length;
    return memory;
}

static void on_hook(JVMPI_Event *event) {
    unsigned char *data = event->u.class_load_hook.class_data;
    jint length = event->u.class_load_hook.class_data_len;
    if (!data || length <= 0 || !event->u.class_load_hook.malloc_f) {
        complain("CLASS_LOAD_HOOK without data or malloc_f");
        return;
    }
    hooks++;
    hooks_of_program += find_text(data, length, "Judged") != NULL;
    const unsigned char *text = find_text(data, length, ORIGINAL);
    if (text) {
        size_t before = text - data, removed = 3 + strlen(ORIGINAL), size = strlen(REPLACED);
        unsigned char *out = answer(event, length - removed + 3 + size);
        memcpy(out, data, before);
        out[before] = 1;
        out[before + 1] = size >> 8;
        out[before + 2] = size & 255;
        memcpy(out + before + 3, REPLACED, size);
        memcpy(out + before + 3 + size, text + removed, length - before - removed);
        replaced++;
    } else if (find_text(data, length, "Judged$Broken$Part") && !find_text(data, length, "print")) {
        memset(answer(event, 100), 0x5A, 100);
        damaged++;
    } else if (copies) {
        memcpy(answer(event, length), data, length);
    } else if (!leaves_untouched) {
        event->u.class_load_hook.new_class_data = data;
        event->u.class_load_hook.new_class_data_len = length;
    }
}

static void notify(JVMPI_Event *event) {
    switch (event->event_type) {
    case JVMPI_EVENT_CLASS_LOAD_HOOK:
        lock();
        on_hook(event);
        unlock();
        break;
    case JVMPI_EVENT_CLASS_LOAD:
        on_class_load(event);
        break;
    case JVMPI_EVENT_JVM_SHUT_DOWN:
        EXPECT(hooks > 20, "only %d hooks", hooks);
        EXPECT(!runs_the_tests_program() || (replaced == 1 && damaged == 1), "the hooked classes came %d and %d times", replaced, damaged);
        EXPECT(hooks_of_program >= class_loads_of_program, "%d classes of the program are loaded, but %d are hooked",
               class_loads_of_program, hooks_of_program);
        total("hooks", hooks);
        verdict();
        break;
    default:
        complain("event %d is not enabled", event->event_type);
    }
}

JNIEXPORT jint JNICALL JVM_OnLoad(JavaVM *vm, char *options, void *reserved) {
    (void)reserved;
    copies = options && strstr(options, "copies");
    leaves_untouched = options && strstr(options, "untouched");
    if (begin(vm, notify) != JNI_OK) {
        return JNI_ERR;
    }
    enable(JVMPI_EVENT_CLASS_LOAD_HOOK);
    enable(JVMPI_EVENT_CLASS_LOAD);
    enable(JVMPI_EVENT_JVM_SHUT_DOWN);
    return JNI_OK;
}
