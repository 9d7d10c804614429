package loadhook;

/** Measures the depth of the current thread's real stack by a stack trace of the JVM. */
final class Stack {
    /** The maximum number of frames in a stack trace, unless -XX:MaxJavaStackTraceDepth changes it. */
    private static final int KNOWN = 1024;
    private static final int DEEPER = 8;

    private Stack() {
    }

    /**
     * Returns whether to compare a path of this depth with the stack. A stack trace takes up to a millisecond and
     * about ten kilobytes. Paths that need one are rare.
     */
    static boolean isWorthALook(int depth) {
        return depth >= 256 && Budget.hasRoom(128 * KNOWN);
    }

    @Guarded
    static boolean isShallowerThan(int depth) {
        int frames = frames(0);
        // If the trace does not grow together with the stack, it is cut off and does not show the real depth.
        return frames < depth && frames(DEEPER) == frames + DEEPER;
    }

    @Guarded
    private static int frames(int deeper) {
        return deeper == 0 ? new Throwable().getStackTrace().length : frames(deeper - 1);
    }
}
