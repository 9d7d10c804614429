package loadhook;

/** Records calls with large, odd and many values, more calls than there is room for, and calls of an earlier trace. */
public final class TracedValues {
    private static final int CALLS = 100;
    private static final int MANY = 1000;

    private TracedValues() {
    }

    /** Its {@code toString} calls traced methods, and fails. */
    private static final class Failing {
        @Override
        public String toString() {
            ended(9, null);
            Tracker.traceExit(Tracker.traceEnter(), 9);
            throw new StackOverflowError();
        }
    }

    private static final class Nameless {
        @Override
        public String toString() {
            return null;
        }
    }

    private static void ended(int method, Object values) {
        Tracker.traceExit(values, Tracker.traceEnter(), method);
    }

    private static void expect(String name, long expected, long found) {
        if (found != expected) {
            throw new AssertionError(name + ": " + expected + " expected, " + found + " found");
        }
    }

    /** Returns the number of lines that begin with a text. */
    private static int lines(String text, String beginning) {
        int count = 0;
        for (String line : text.split("\n")) {
            count += line.startsWith(beginning) ? 1 : 0;
        }
        return count;
    }

    public static void main(String[] args) {
        Tracker.configure(Timing.COUNT, 0, 1000);
        Tracker.beginTrace(0, 1, 1);
        for (int call = 0; call < CALLS; call++) {
            // The heap has no room for all of them at once.
            ended(1, Tracker.traceValue(new byte[1 << 20], null));
        }
        String large = Tracker.takeTraced();
        expect("large values", CALLS, lines(large, "value o byte[1048576]"));
        expect("lost calls", 0, lines(large, "lost"));

        ended(2, Tracker.traceValue(new Failing(), null));
        ended(2, Tracker.traceValue(new Nameless(), null));
        ended(3, Tracker.traceValue(7, null));
        String odd = Tracker.takeTraced();
        expect("failing toString", 1,
                lines(odd, "value c loadhook.TracedValues$Failing toString threw java.lang.StackOverflowError"));
        expect("toString without a text", 1,
                lines(odd, "value c loadhook.TracedValues$Nameless toString returned null"));
        expect("calls of toString", 0, lines(odd, "call 9 "));
        expect("a call after that", 1, lines(odd, "value i 7"));

        Object list = null;
        for (int value = 0; value < MANY; value++) {
            list = Tracker.traceValue(1000000, list);
        }
        ended(4, list);
        int shown = lines(Tracker.takeTraced(), "value i 1000000");
        expect("many values are cut", 1, shown > 100 && shown < MANY ? 1 : 0);

        for (int call = 0; call < 2 * MANY; call++) {
            ended(5, null);
        }
        expect("lost and dropped calls", 2 * MANY, Tracker.dropTraced(0));
        expect("dropped parts", 0, Tracker.dropTraced(1));
        expect("calls after that", 0, Tracker.takeTraced().length());

        long early = Tracker.traceEnter();
        Tracker.endTrace();
        Tracker.beginTrace(0, 1, 0);
        Tracker.traceExit(early, 6);
        Tracker.traceThrown(new Error(), null, early, 6);
        ended(7, null);
        String second = Tracker.takeTraced();
        expect("calls that began before the trace", 0, lines(second, "call 6 "));
        expect("calls of the second trace", 1, lines(second, "call 7 "));
        expect("methods with durations", 1, lines(Tracker.takeLatencies(), "latency "));
        System.out.println("whole");
        System.exit(0);
    }
}
