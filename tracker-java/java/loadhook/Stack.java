package loadhook;

/** The thread's real stack, as far as the JVM tells its depth. */
final class Stack {
    /** A stack trace has at most so many frames, unless -XX:MaxJavaStackTraceDepth says otherwise. */
    private static final int KNOWN = 1024;
    private static final int DEEPER = 8;

    private Stack() {
    }

    /** Paths that deep are rare, and the look costs up to a millisecond and some ten kilobytes. */
    static boolean isWorthALook(int depth) {
        return depth >= 256 && Budget.hasRoom(128 * KNOWN);
    }

    @Guarded
    static boolean isShallowerThan(int depth) {
        int frames = frames(0);
        // A trace that does not grow with the stack does not tell its depth.
        return frames < depth && frames(DEEPER) == frames + DEEPER;
    }

    @Guarded
    private static int frames(int deeper) {
        return deeper == 0 ? new Throwable().getStackTrace().length : frames(deeper - 1);
    }
}
