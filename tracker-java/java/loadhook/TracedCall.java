package loadhook;

/** A traced call that has ended. */
final class TracedCall {
    private final int method;
    private final long start;
    private final long end;
    private final Thread thread;
    /** The exception that has ended the call, or null. */
    private final Throwable thrown;
    /** The stack; null for a call that is recorded only as a part of other calls. */
    private final TraceStack stack;
    /** The values of the call, or null. */
    private final TracedValue values;

    TracedCall(int method, long start, long end, Throwable thrown, TraceStack stack, TracedValue values) {
        this.method = method;
        this.start = start;
        this.end = end;
        this.thread = Thread.currentThread();
        this.thrown = thrown;
        this.stack = stack;
        this.values = values;
    }

    /** Appends lines: the call, and its thread, exception, stack and values. */
    void write(StringBuilder text, long epoch) {
        text.append(stack == null ? "part " : "call ").append(method).append(' ').append(start + epoch);
        text.append(' ').append(end - start).append(' ').append(Ids.of(thread)).append('\n');
        if (thrown != null) {
            line(text, "thrown ", thrown.getClass().getName());
        }
        if (stack == null) {
            return;
        }
        line(text, "thread ", thread.getName());
        TracedValue.write(values, text);
        StackTraceElement[] frames = stack.getStackTrace();
        for (int at = 0; at < frames.length; at++) {
            // The first frames are the tracker's own.
            if (!frames[at].getClassName().startsWith("java.lang.$Loadhook")) {
                line(text, "at ", frames[at].toString());
            }
        }
    }

    private static void line(StringBuilder text, String word, String value) {
        text.append(word).append(value.replace('\n', ' ')).append('\n');
    }
}
