package loadhook;

/** The thread's real stack, as far as the JVM tells its depth. */
final class Stack {
    /** A stack trace has at most so many frames (-XX:MaxJavaStackTraceDepth): deeper is unknown. */
    private static final int KNOWN = 1024;

    private Stack() {
    }

    /** Paths that deep are rare, and the look costs up to a millisecond and some ten kilobytes. */
    static boolean isWorthALook(int depth) {
        return depth >= 256 && Budget.hasRoom(128 * KNOWN);
    }

    @Guarded
    static boolean isShallowerThan(int depth) {
        int frames = new Throwable().getStackTrace().length;
        return frames < KNOWN && frames < depth;
    }
}
