package loadhook;

/**
 * Measures what the probes themselves cost, in picoseconds, on paths of its own.
 *
 * In a program of seconds the probes are compiled, but the loops here may not be; so what a loop costs that calls empty
 * methods instead is taken off.
 */
final class Calibration {
    private static final int CALLS = 500;
    private static final int TIMED_CALLS = 60;
    /** Several, since the program's threads may have the processors. */
    private static final int ROUNDS = 20;
    private static final long UNKNOWN = Long.MAX_VALUE;

    /** What of a timed call's probes lies between its two readings of the clock. */
    static long insidePicos;
    /** What a call's probes cost besides, all of it charged to the callers. */
    static long outsidePicos;
    static long clockPicos;

    private Calibration() {
    }

    /** Measures for so long; what was measured earlier stays where it is less, since compiled code only gets faster. */
    static void run(long nanos) {
        long end = System.nanoTime() + nanos;
        long empty = Long.MAX_VALUE;
        long clock = Long.MAX_VALUE;
        long untimed = UNKNOWN;
        long timed = UNKNOWN;
        long inside = UNKNOWN;
        for (int round = 0; round < ROUNDS || System.nanoTime() < end; round++) {
            empty = Math.min(empty, empty());
            clock = Math.min(clock, clock());
            Path counting = new Path(Timing.COUNT, 4, 4, 1);
            untimed = Math.min(untimed, pair(counting, CALLS));
            counting.clear();
            if (Timing.mode != Timing.COUNT) {
                Path path = new Path(Timing.EXACT, 4, 4, 1);
                long pair = pair(path, TIMED_CALLS);
                if (pair != UNKNOWN) {
                    timed = Math.min(timed, pair);
                    inside = Math.min(inside, path.times[2 * Tree.STRIDE + Tree.ALL] * 1000 / TIMED_CALLS);
                }
                path.clear();
            }
        }
        // Of a turn of the loop about half is calling and half returning, which lies between the readings.
        clockPicos = least(clockPicos, clock - empty / 2);
        if (untimed == UNKNOWN || Timing.mode != Timing.COUNT && timed == UNKNOWN) {
            return;
        }
        if (Timing.mode != Timing.COUNT) {
            insidePicos = least(insidePicos, inside - empty / 2);
        }
        long outside = Timing.mode == Timing.EXACT ? timed - inside - empty / 2 : untimed - empty;
        outsidePicos = least(outsidePicos, outside);
    }

    /**
     * Goes through what is slow once, so that no class is loaded, initialised or linked later: not where the stack
     * ends, nor where the heap does.
     */
    static void rehearse() {
        Path path = new Path(Timing.EXACT, 2, 1, 1);
        for (int method = 0; method < 20; method++) {
            path.enter(method);
        }
        path.exit(9);
        path.caught(5);
        for (int method = 5; method < 9; method++) {
            path.construct(method, method, method + 1);
            path.enter(method + 1);
        }
        path.ended(9, 9);
        path.enter(5);
        path.construct(5, 5, 6);
        path.enter(6);
        path.constructed(5);
        Reading reading = Reading.of(path);
        Tree sum = new Tree(Timing.COUNT, 2);
        sum.add(reading, Groups.mapFor(reading));
        sum.clear();
        path.clear();
        Stack.isShallowerThan(0);
        Groups.withoutNumbers("thread-1");
        Snapshot snapshot = new Snapshot();
        snapshot.fill(new long[4096]);
        snapshot.end();
    }

    private static long least(long before, long now) {
        return before == 0 ? Math.max(1, now) : Math.min(before, Math.max(1, now));
    }

    private static long clock() {
        long start = System.nanoTime();
        for (int call = 0; call < CALLS; call++) {
            Clock.now();
        }
        return picos(start, CALLS);
    }

    private static long empty() {
        long start = System.nanoTime();
        for (int call = 0; call < CALLS; call++) {
            empty(0);
            empty(0);
        }
        return picos(start, CALLS);
    }

    private static void empty(int method) {
    }

    /**
     * A pair of probes as the program runs them: with the way to the path. Unknown if another thread, whose path has the
     * same place in the cache, took it meanwhile.
     */
    private static long pair(Path path, int calls) {
        long nanos = Threads.pairs(path, calls);
        return path.calls(Tree.STRIDE) == calls ? nanos * 1000 / calls : UNKNOWN;
    }

    private static long picos(long start, int calls) {
        return (System.nanoTime() - start) * 1000 / calls;
    }
}
