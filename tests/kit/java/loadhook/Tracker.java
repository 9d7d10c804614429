package loadhook;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The tracker that probes call in the tests: it records events, and lets a test read them.
 *
 * The path is repaired as in the real tracker: {@code exit}, {@code ended} and {@code caught} of a method that is
 * not on top unwind to its nearest entry, because a {@code super(…)} that throws runs no exit probe. Entries of
 * constructors inside such a call are not candidates; they are removed when {@code ended} reports that the call
 * throws. The tracker never throws; an event during a stack overflow or with a full heap counts as lost.
 */
public final class Tracker {
    /** Maximum number of events that a thread logs; later events are only counted. */
    private static final int LOG = 256;

    private static final ThreadLocal<State> STATE = ThreadLocal.withInitial(State::new);

    private static final AtomicLong STARTS = new AtomicLong(1L << 40);

    private Tracker() {}

    /** The kinds of event, in the order in which {@link #counts} gives them. */
    public enum Event { ENTER, COUNT, EXIT, CAUGHT, CONSTRUCT, CONSTRUCTED, ENDED, ALLOC, ALLOC_ARRAY, ALLOC_DIMENSION, INIT, NEW_ARRAY }

    private static final Event[] EVENTS = Event.values();

    private static final class State {
        private long[] path = new long[64];
        /**
         * For an entry that calls another constructor: its own key, and the other constructor's in {@code other}.
         * Otherwise 0.
         */
        private long[] own = new long[64];
        private long[] other = new long[64];
        private int depth;
        private long healed;
        private long missing;
        private long lost;
        private final long[] counts = new long[EVENTS.length];
        private final byte[] loggedEvents = new byte[LOG];
        private final long[][] loggedArguments = new long[LOG][];
        private int logged;

        private void record(Event event, long... arguments) {
            counts[event.ordinal()]++;
            if (logged < LOG) {
                loggedEvents[logged] = (byte) event.ordinal();
                loggedArguments[logged++] = arguments;
            }
        }

        private void push(long id) {
            if (depth == path.length) {
                path = Arrays.copyOf(path, 2 * depth);
                own = Arrays.copyOf(own, 2 * depth);
                other = Arrays.copyOf(other, 2 * depth);
            }
            own[depth] = 0;
            other[depth] = 0;
            path[depth++] = id;
        }

        /** Unwinds to the nearest entry of this method; with {@code pop}, also removes that entry. */
        private void unwind(long id, boolean pop) {
            int at = depth - 1;
            while (at >= 0 && (path[at] != id || other[at] != 0)) {
                at--;
            }
            if (at < 0) {
                missing++;
                return;
            }
            healed += depth - 1 - at;
            depth = pop ? at : at + 1;
        }

        private void construct(long id, int key, int called) {
            unwind(id, false);
            if (depth > 0 && path[depth - 1] == id) {
                own[depth - 1] = key;
                other[depth - 1] = called;
            }
        }

        private void constructed(long id) {
            int at = depth - 1;
            while (at >= 0 && (path[at] != id || other[at] == 0)) {
                at--;
            }
            if (at < 0) {
                missing++;
                return;
            }
            healed += depth - 1 - at;
            depth = at + 1;
            other[at] = 0;
        }

        private void end(long id, int key) {
            unwind(id, true);
            long thrown = key;
            while (thrown != 0 && depth > 0 && other[depth - 1] == thrown) {
                thrown = own[--depth];
                healed++;
            }
        }
    }

    private static void enterPath(long id, long... arguments) {
        try {
            State state = STATE.get();
            state.push(id);
            state.record(Event.ENTER, arguments);
        } catch (StackOverflowError | OutOfMemoryError e) {
            lose();
        }
    }

    private static void leavePath(Event event, long id, long... arguments) {
        try {
            State state = STATE.get();
            state.unwind(id, event == Event.EXIT);
            state.record(event, arguments);
        } catch (StackOverflowError | OutOfMemoryError e) {
            lose();
        }
    }

    private static void note(Event event, long... arguments) {
        try {
            STATE.get().record(event, arguments);
        } catch (StackOverflowError | OutOfMemoryError e) {
            lose();
        }
    }

    private static void lose() {
        try {
            STATE.get().lost++;
        } catch (StackOverflowError | OutOfMemoryError e) {
            // There is not even room to count this event as lost.
        }
    }

    private static long id(int classNumber, int methodNumber) {
        return (long) classNumber << 32 | methodNumber & 0xFFFFFFFFL;
    }

    public static void enter(int method) {
        enterPath(method, method);
    }

    public static void count(int method) {
        note(Event.COUNT, method);
    }

    public static void exit(int method) {
        leavePath(Event.EXIT, method, method);
    }

    public static void caught(int method) {
        leavePath(Event.CAUGHT, method, method);
    }

    public static void construct(int method, int key, int other) {
        try {
            State state = STATE.get();
            state.construct(method, key, other);
            state.record(Event.CONSTRUCT, method, key, other);
        } catch (StackOverflowError | OutOfMemoryError e) {
            lose();
        }
    }

    public static void constructed(int method) {
        try {
            State state = STATE.get();
            state.constructed(method);
            state.record(Event.CONSTRUCTED, method);
        } catch (StackOverflowError | OutOfMemoryError e) {
            lose();
        }
    }

    public static void ended(int method, int key) {
        try {
            State state = STATE.get();
            state.end(method, key);
            state.record(Event.ENDED, method, key);
        } catch (StackOverflowError | OutOfMemoryError e) {
            lose();
        }
    }

    public static void enter(int classNumber, int methodNumber) {
        enterPath(id(classNumber, methodNumber), classNumber, methodNumber);
    }

    public static void count(int classNumber, int methodNumber) {
        note(Event.COUNT, classNumber, methodNumber);
    }

    public static void exit(int classNumber, int methodNumber) {
        leavePath(Event.EXIT, id(classNumber, methodNumber), classNumber, methodNumber);
    }

    public static void caught(int classNumber, int methodNumber) {
        leavePath(Event.CAUGHT, id(classNumber, methodNumber), classNumber, methodNumber);
    }

    /** Returns a number as the start of a traced call, so that each end shows the call to which it belongs. */
    public static long traceEnter() {
        long start = STARTS.incrementAndGet();
        enterPath(start);
        return start;
    }

    public static void traceExit(long start, int method) {
        leavePath(Event.EXIT, start, method);
    }

    public static void traceThrown(Throwable thrown, long start, int method) {
        leavePath(Event.EXIT, start, method);
    }

    public static void traceExit(Object values, long start, int method) {
        leavePath(Event.EXIT, start, method);
    }

    public static void traceThrown(Throwable thrown, Object values, long start, int method) {
        leavePath(Event.EXIT, start, method);
    }

    public static Object traceValue(int value, Object list) {
        return list;
    }

    public static Object traceValue(long value, Object list) {
        return list;
    }

    public static Object traceValue(float value, Object list) {
        return list;
    }

    public static Object traceValue(double value, Object list) {
        return list;
    }

    public static Object traceValue(Object value, Object list) {
        return list == null ? "" : list;
    }

    public static void alloc(int site) {
        note(Event.ALLOC, site);
    }

    public static void allocArray(int length, int site) {
        note(Event.ALLOC_ARRAY, length, site);
    }

    public static void allocDimension(int length, int dimension, int site) {
        note(Event.ALLOC_DIMENSION, length, dimension, site);
    }

    public static void init(Object object) {
        note(Event.INIT);
    }

    public static void newArray(Object array) {
        note(Event.NEW_ARRAY);
    }

    /** Clears the records of this thread. */
    public static void reset() {
        STATE.set(new State());
    }

    /**
     * Returns the number of methods that this thread has entered, and that were neither exited nor removed by repair.
     */
    public static int depth() {
        return STATE.get().depth;
    }

    /**
     * Returns this thread's numbers: the depth, entries removed by repair, exits and catches of
     * methods that were not on the path, events lost, then one count for each {@link Event}.
     */
    public static long[] counts() {
        State state = STATE.get();
        long[] counts = new long[4 + EVENTS.length];
        counts[0] = state.depth;
        counts[1] = state.healed;
        counts[2] = state.missing;
        counts[3] = state.lost;
        System.arraycopy(state.counts, 0, counts, 4, EVENTS.length);
        return counts;
    }

    /** Returns this thread's first events as text: {@code ENTER 3, ALLOC_ARRAY 10 7, EXIT 3}. */
    public static String log() {
        State state = STATE.get();
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < state.logged; i++) {
            text.append(i == 0 ? "" : ", ").append(EVENTS[state.loggedEvents[i]]);
            for (long argument : state.loggedArguments[i]) {
                text.append(' ').append(argument);
            }
        }
        return text.toString();
    }
}
