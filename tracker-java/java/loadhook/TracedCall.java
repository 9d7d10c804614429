package loadhook;

/** A traced call that has ended. Of the program's objects, it keeps only short strings and numbers in memory. */
final class TracedCall {
    private final int method;
    private final long start;
    private final long end;
    private final long thread;
    /** The name of the thread; null without a stack. */
    private final String threadName;
    /** The class of the exception that has ended the call, or null. */
    private final String thrown;
    /** The stack; null for a call that is recorded only as a part of other calls. */
    private final TraceStack stack;
    /** The {@linkplain TracedValue#settled settled} values; null if there are none. */
    private final TracedValue values;

    /** Makes the record of a call that has ended in the current thread. */
    TracedCall(int method, long start, long end, Throwable thrown, TraceStack stack, TracedValue values) {
        Thread thread = Thread.currentThread();
        this.method = method;
        this.start = start;
        this.end = end;
        this.thread = Ids.of(thread);
        this.threadName = stack == null ? null : thread.getName();
        this.thrown = thrown == null ? null : thrown.getClass().getName();
        this.stack = stack;
        this.values = values;
    }

    /** Appends lines: one for the call, then those for its thread, exception, stack and values. */
    void write(StringBuilder text, long epoch) {
        text.append(stack == null ? "part " : "call ").append(method).append(' ').append(start + epoch);
        text.append(' ').append(end - start).append(' ').append(thread).append('\n');
        if (thrown != null) {
            line(text, "thrown ", thrown);
        }
        if (stack == null) {
            return;
        }
        line(text, "thread ", threadName);
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
