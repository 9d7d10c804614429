package loadhook;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Records calls of traced methods, until the agent takes them.
 *
 * The traced method itself keeps the time of its entry, so nothing is stored here for calls under way. A call is
 * recorded with its stack if it is slow, or if an exception ends it and such calls are wanted. A call of at least
 * a hundredth of the limit is recorded without its stack, since it may be a part of a slow call. Any number of
 * threads add to a {@link TraceRing}, and one thread takes from it. A recorded call has numbers, short strings and
 * texts, not the program's other objects, so that none of these lives longer than the call. {@link
 * TracedLatencies} counts all calls.
 */
final class Trace {
    private static final int CALLS = 1 << 10;
    private static final int PARTS = 1 << 13;
    /**
     * The length at which no further call is added to the text of {@link #take}. The calls that are only parts of
     * others do not count.
     */
    private static final int LONG_TEXT = 1 << 17;

    /** Calls of at least this many nanoseconds are recorded. */
    private static long least = Long.MAX_VALUE;
    /** Calls of at least this many nanoseconds are recorded with their stacks. */
    private static long slow = Long.MAX_VALUE;
    /** True if calls that an exception ends are recorded with their stacks, however long they last. */
    private static boolean takesThrown;
    /** True if the agent may call {@code toString} of the values of recorded calls. */
    private static boolean callsToString;

    /** The recorded calls, and those that are only parts of other calls; null if nothing is traced. */
    private static volatile TraceRing calls;
    private static volatile TraceRing parts;

    /** The beginning of the trace, by {@link System#nanoTime}. */
    private static long begun;
    /** The nanoseconds since 1970 at the moment when {@link System#nanoTime} was 0. */
    private static long epoch;

    private Trace() {
    }

    static void begin(long slow, boolean takesThrown, boolean callsToString) {
        // Probes must not be the first to use these classes, see Counters.rehearse.
        Describing.isUnderWay();
        TracedValue.before('L', 0, null, null);
        begun = System.nanoTime();
        epoch = System.currentTimeMillis() * 1000000 - begun;
        parts = new TraceRing(PARTS);
        calls = new TraceRing(CALLS);
        TracedLatencies.begin();
        Trace.slow = slow;
        Trace.takesThrown = takesThrown;
        Trace.callsToString = callsToString;
        least = slow / 100;
    }

    static void forget() {
        least = Long.MAX_VALUE;
        takesThrown = false;
        callsToString = false;
        calls = null;
        parts = null;
        TracedLatencies.forget();
    }

    /**
     * Counts a call that has ended. Returns whether the call is long or failed, so that the caller must give it to
     * {@link #ended}. The caller does so itself, because each frame makes the stack of a record dearer.
     *
     * Does nothing for a call that began before the trace. A method that was under way when an earlier trace
     * ended still has the probes of that trace, but may not be traced now.
     */
    static boolean isRecorded(int method, long start, long end, Throwable thrown) {
        if (start - begun < 0) {
            return false;
        }
        TracedLatencies.count(method, end - start);
        return end - start >= least || thrown != null && takesThrown;
    }

    /** Records a call, unless the call was made in order to record another call. */
    @OutOfLine
    static void ended(int method, long start, long end, Throwable thrown, Object values) {
        boolean isChosen = end - start >= slow || thrown != null && takesThrown;
        TraceRing ring = isChosen ? calls : parts;
        if (ring == null || Threads.isOurs(Thread.currentThread()) || Describing.isUnderWay()) {
            return;
        }
        AtomicLong mark = ring.hasRoom() && Budget.hasRoomForCall(end) ? Describing.begin() : null;
        if (mark == null) {
            ring.lose(1);
            return;
        }
        try {
            ring.add(isChosen ? new TracedCall(method, start, end, thrown, new TraceStack(),
                    TracedValue.settled((TracedValue) values, callsToString))
                    : new TracedCall(method, start, end, thrown, null, null));
        } catch (ThreadDeath stop) {
            throw stop;
        } catch (Throwable error) {
            // For example another thread has taken the memory, or the stack has no room.
            ring.lose(1);
        } finally {
            Describing.end(mark);
        }
    }

    /** Returns the oldest calls as text, which {@code agent/src/control/trace.rs} reads; empty if there are none. */
    static String take() {
        TraceRing calls = Trace.calls;
        TraceRing parts = Trace.parts;
        if (calls == null || parts == null) {
            return "";
        }
        long lost = calls.takeLost();
        long lostParts = parts.takeLost();
        long callsTaken = calls.taken();
        long partsTaken = parts.taken();
        try {
            StringBuilder text = new StringBuilder();
            write(calls, parts, text);
            line(text, "lost", lost);
            line(text, "lost-parts", lostParts);
            return text.toString();
        } catch (OutOfMemoryError error) {
            calls.lose(lost + calls.taken() - callsTaken);
            parts.lose(lostParts + parts.taken() - partsTaken);
            return "";
        }
    }

    /**
     * Drops the calls that have not been taken, because there is no memory for their text.
     *
     * @return the number of calls lost since the previous call of this method, the dropped ones included
     */
    static long drop(boolean areParts) {
        TraceRing ring = areParts ? parts : calls;
        if (ring == null) {
            return 0;
        }
        // The loop is bounded, because new calls may come meanwhile.
        long before = ring.count();
        while (ring.taken() < before && ring.take() != null) {
            ring.lose(1);
        }
        return ring.takeLost();
    }

    private static void write(TraceRing calls, TraceRing parts, StringBuilder text) {
        // A part ends before the call to which it belongs. So if all parts are taken after the calls were
        // counted, each of those calls has all its parts.
        long callsBefore = calls.count();
        // The loop is bounded by the number of parts. With a bound on the text, many parts would keep all calls
        // back.
        long partsBefore = parts.count();
        while (parts.taken() < partsBefore) {
            TracedCall call = parts.take();
            if (call == null) {
                break;
            }
            call.write(text, epoch);
        }
        int enough = text.length() + LONG_TEXT;
        while (text.length() < enough && calls.taken() < callsBefore) {
            TracedCall call = calls.take();
            if (call == null) {
                break;
            }
            call.write(text, epoch);
        }
    }

    private static void line(StringBuilder text, String word, long number) {
        if (number != 0) {
            text.append(word).append(' ').append(number).append('\n');
        }
    }
}
