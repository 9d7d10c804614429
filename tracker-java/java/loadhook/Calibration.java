package loadhook;

/** Measures what the probes themselves cost, in picoseconds, on a path of its own. */
final class Calibration {
    private static final int CALLS = 500;
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
        do {
            clockPicos = least(clockPicos, clock());
            long untimed = pair(Timing.COUNT, null);
            if (Timing.mode == Timing.COUNT) {
                outsidePicos = least(outsidePicos, untimed);
            } else {
                Path exact = new Path(Timing.EXACT, 4, 4, 1);
                long timed = pair(Timing.EXACT, exact);
                long inside = exact.times[Tree.STRIDE + Tree.ALL] * 1000 / CALLS;
                exact.clear();
                if (timed != UNKNOWN) {
                    insidePicos = least(insidePicos, inside);
                    timed -= inside;
                }
                outsidePicos = least(outsidePicos, Timing.mode == Timing.EXACT ? timed : untimed);
            }
        } while (System.nanoTime() < end);
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
        if (now == UNKNOWN) {
            return before;
        }
        return before == 0 ? Math.max(1, now) : Math.min(before, Math.max(1, now));
    }

    private static long clock() {
        long start = System.nanoTime();
        for (int call = 0; call < CALLS; call++) {
            Clock.now();
        }
        return (System.nanoTime() - start) * 1000 / CALLS;
    }

    /**
     * A pair of probes as the program runs them: with the way to the path. Unknown if another thread, whose path has the
     * same place in the cache, took it meanwhile.
     */
    private static long pair(int mode, Path path) {
        Path scratch = path != null ? path : new Path(mode, 4, 4, 1);
        long nanos = Threads.pairs(scratch, CALLS);
        boolean complete = scratch.calls(Tree.STRIDE) == CALLS;
        if (path == null) {
            scratch.clear();
        }
        return complete ? nanos * 1000 / CALLS : UNKNOWN;
    }
}
