package loadhook;

import java.lang.reflect.Field;

/**
 * The ids of threads. An id is never reused, and is not 0 once the thread's constructor has set it.
 *
 * A program can override {@code getId()}. From JDK 19 on, a final method is called instead. Earlier
 * JDKs lack it, so the field behind {@code getId()} is read. If the field cannot be read, as in a
 * named module without {@code jdk.unsupported}, the identity hash code stands in. Two threads can
 * share a hash code, so paths then compare threads by reference, which is correct but slower.
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

    /**
     * Returns the id by which a probe recognises the owner of a path; 0, which is no thread's id, if threads can
     * share an id.
     */
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
        // For example "1.8", "17" or "25".
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
