package loadhook;

/** The depth of the thread's real stack, as far as the JVM shows it. */
final class Stack {
    /** Most frames of a stack trace, unless -XX:MaxJavaStackTraceDepth says otherwise. */
    private static final int KNOWN = 1024;
    private static final int DEEPER = 8;

    private Stack() {
    }

    /** Returns whether to look at the stack. The look takes up to a millisecond and some ten kilobytes; such paths are rare. */
    static boolean isWorthALook(int depth) {
        return depth >= 256 && Budget.hasRoom(128 * KNOWN);
    }

    @Guarded
    static boolean isShallowerThan(int depth) {
        int frames = frames(0);
        // A trace that does not grow with the stack does not show its depth.
        return frames < depth && frames(DEEPER) == frames + DEEPER;
    }

    @Guarded
    private static int frames(int deeper) {
        return deeper == 0 ? new Throwable().getStackTrace().length : frames(deeper - 1);
    }
}
