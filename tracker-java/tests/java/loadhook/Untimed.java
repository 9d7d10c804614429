package loadhook;

/**
 * Sums up the calls of threads whose calls are timed and of threads whose calls are not. Only timed calls count for
 * the mean time. Calls that are only counted have a sum of their own.
 */
public final class Untimed {
    private static final int TIMED = 100;
    private static final int UNTIMED = 10000;
    private static final int COUNTED = 7;

    private Untimed() {
    }

    public static void main(String[] args) {
        Tracker.configure(Timing.EXACT, 0, 1000);
        Path timed = path(Timing.EXACT, TIMED);
        Path untimed = path(Timing.COUNT, UNTIMED);
        MethodCalls counted = new MethodCalls(2000);
        for (int call = 0; call < COUNTED; call++) {
            counted.count(3);
            counted.count(1999);
        }
        is(TIMED, MethodSums.of(new Path[] {timed, untimed}, counted));
        // The threads end here.
        for (Path path : new Path[] {timed, untimed}) {
            path.name = path == timed ? "a" : "b";
            EndedThreads.prepare(path);
            EndedThreads.add(path);
        }
        is(TIMED, MethodSums.of(new Path[] {}, counted));
        System.out.println("timed");
        System.exit(0);
    }

    private static Path path(int mode, int calls) {
        Path path = new Path(mode, 4, 4, 1);
        for (int call = 0; call < calls; call++) {
            path.enter(3);
            path.exit(3);
        }
        return path;
    }

    private static void is(long expected, MethodSums sums) {
        long[] buffer = new long[4096];
        int words = sums.fill(buffer);
        if (words != 8 || buffer[0] != 3 || buffer[1] != expected || buffer[3] != COUNTED) {
            throw new AssertionError(words + " words, " + buffer[1] + " and " + buffer[3] + " calls of " + buffer[0]);
        }
        if (buffer[4] != 1999 || buffer[5] != 0 || buffer[6] != 0 || buffer[7] != COUNTED) {
            throw new AssertionError(buffer[5] + " and " + buffer[7] + " calls of " + buffer[4]);
        }
    }
}
