package loadhook;

import java.lang.reflect.Field;

/**
 * The ids of threads: never reused, never 0 once a thread is complete.
 *
 * {@code getId()} will not do, since a program can override it. From JDK 19 on there is a final method; before, the field
 * behind it is read. Where it cannot be, as in a named module without {@code jdk.unsupported}, the identity hash code has to
 * do, which two threads can share: then paths tell threads by reference, which is correct, and slower.
 */
final class Ids {
    private static final boolean FINAL_METHOD = feature() >= 19;
    private static final long TID = FINAL_METHOD ? -1 : offset();

    private Ids() {
    }

    static long of(Thread thread) {
        if (FINAL_METHOD) {
            return ((JavaThread) (Object) thread).threadId();
        }
        return TID < 0 ? System.identityHashCode(thread) : Memory.UNSAFE.getLong(thread, TID);
    }

    /** What a probe, which has the id, knows a path's owner by; where threads can share an id, none. */
    static long owner(Thread thread) {
        return areKnown() ? of(thread) : 0;
    }

    static boolean areKnown() {
        return FINAL_METHOD || TID >= 0;
    }

    static boolean isVirtual(Thread thread) {
        return FINAL_METHOD && ((JavaThread) (Object) thread).isVirtual();
    }

    private static int feature() {
        // "1.8", "17", "25"
        String version = System.getProperty("java.specification.version", "");
        int feature = 0;
        for (int at = 0; at < version.length() && version.charAt(at) != '.'; at++) {
            feature = 10 * feature + version.charAt(at) - '0';
        }
        return feature;
    }

    private static long offset() {
        if (Memory.UNSAFE == null) {
            return -1;
        }
        try {
            return Memory.UNSAFE.objectFieldOffset(Thread.class.getDeclaredField("tid"));
        } catch (Exception error) {
            return -1;
        }
    }
}
