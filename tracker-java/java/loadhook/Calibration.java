package loadhook;

/**
 * Measures the cost of the probes in picoseconds, on paths that only the calibration uses.
 *
 * In a program that runs for seconds the probes are compiled. A loop here is compiled only after
 * some thousand rounds, and an interpreted loop costs more than the probes in it. So one loop does
 * all measurements, and a round counts only if an empty loop takes almost no time in it. A very
 * short program has no such rounds; the costs are then derived from the cost of reading the clock.
 * With {@code -Xint} all rounds count.
 *
 * A processor executes much of a probe while it waits for results of the program. So the loop
 * computes some results to wait for, about as many as a small method does.
 */
final class Calibration {
    /**
     * The number of batches in a round. The number is large enough for the JVM to replace the interpreted loop by a
     * compiled one during a round.
     */
    private static final int BATCHES = 100;
    private static final int TURNS = 100;
    /**
     * The number of rounds. One round would not suffice, because the program's threads may occupy
     * the processors.
     */
    private static final int ROUNDS = 5;

    private static final int NOTHING = 0;
    private static final int CLOCK = 1;
    private static final int WORK = 2;
    /** The kind of batch with probes around the work. */
    private static final int PROBES = 3;
    /** The kind of batch with the probes of {@link Exact} around the work. */
    private static final int EXACT_PROBES = 4;

    /** The cost of the part of a timed call's probes that lies between its two clock readings. */
    static long insidePicos;
    /** The cost of the other part of a call's probes. This cost is charged to the callers. */
    static long outsidePicos;
    static long clockPicos;

    /** True if {@link #insidePicos} and the other costs were measured in compiled rounds. */
    private static boolean compiled;

    private static long result;

    // The shortest time of a batch so far in nanoseconds, for each kind.
    private long clock = Long.MAX_VALUE;
    private long work = Long.MAX_VALUE;
    private long untimed = Long.MAX_VALUE;
    private long timed = Long.MAX_VALUE;
    private long inside = Long.MAX_VALUE;
    /**
     * The shortest time that a batch of the last measurement booked for its calls. This time may belong to a round
     * that does not count.
     */
    private static long booked;
    private int rounds;

    private Calibration() {
    }

    /** Measures for at most this many nanoseconds. A smaller cost from an earlier measurement stays. */
    static void run(long nanos) {
        long end = System.nanoTime() + nanos;
        Calibration all = new Calibration();
        Calibration best = new Calibration();
        boolean more = true;
        while (more && (Timing.interpreted ? all : best).rounds < ROUNDS) {
            long nothing = batch(NOTHING);
            long clock = batch(CLOCK);
            all.clock = Math.min(all.clock, clock);
            more = System.nanoTime() < end;
            // Only the optimising compiler removes two empty calls.
            if (!Timing.interpreted && 8 * nothing < clock && Ids.areKnown()) {
                best.round(clock);
            } else if (more || Timing.interpreted) {
                all.round(clock);
            }
        }
        if (best.rounds != 0) {
            if (!compiled) {
                compiled = true;
                insidePicos = 0;
                outsidePicos = 0;
                clockPicos = 0;
            }
            best.keep();
        } else if (!compiled && Timing.interpreted) {
            all.keep();
        } else if (!compiled) {
            all.guess();
        }
    }

    private void round(long clock) {
        rounds++;
        this.clock = Math.min(this.clock, clock);
        work = Math.min(work, batch(WORK));
        untimed = Math.min(untimed, probes(Timing.COUNT));
        if (Timing.mode != Timing.COUNT) {
            timed = Math.min(timed, probes(Timing.EXACT));
        }
    }

    /**
     * Times a batch of probes as the program runs them, including the search for the path. Returns MAX_VALUE if
     * another thread, whose path has the same slot in the cache, took that slot meanwhile.
     */
    private long probes(int mode) {
        Path path = new Path(mode, 4, 4, 1);
        path.latencies = new Latencies(false);
        long nanos = timeProbes(path);
        boolean whole = path.calls(Tree.STRIDE) == BATCHES * TURNS;
        if (whole && mode == Timing.EXACT) {
            // Only the probes of Path keep a moving mean of the durations.
            boolean hasMean = !Interpreted.isUsed() && !Exact.isUsed();
            inside = Math.min(inside, hasMean ? path.times[2 * Tree.STRIDE + Tree.RECENT] * TURNS : booked);
        }
        Budget.giveBack(path.taken());
        return whole ? nanos : Long.MAX_VALUE;
    }

    /**
     * Runs probes on a scratch path, which takes the current thread's slot in the cache. Returns the nanoseconds
     * of a batch.
     *
     * The current thread is marked as the reader of a snapshot. So if another thread takes the slot
     * meanwhile, the probes do nothing. Without the mark they would count as calls of the program.
     */
    private long timeProbes(Path scratch) {
        Thread thread = Thread.currentThread();
        scratch.owner = Ids.owner(thread);
        int slot = Threads.slot(Ids.of(thread));
        Threads.CACHE[slot] = scratch;
        try {
            if (Interpreted.isUsed()) {
                return timeInterpretedProbes(scratch, thread);
            }
            return batch(Exact.isUsed() ? EXACT_PROBES : PROBES, scratch);
        } finally {
            // The path that was in the slot may have ended, so it is not put back.
            Threads.CACHE[slot] = Threads.NOBODYS;
        }
    }

    private long timeInterpretedProbes(Path scratch, Thread thread) {
        scratch.held = thread;
        Interpreted.meet(scratch);
        try {
            return interpretedBatch(scratch, scratch.mode == Timing.COUNT);
        } finally {
            Interpreted.leave(scratch);
        }
    }

    /** Does what {@link #batch} does, with the probes for a JVM without a compiler. */
    private static long interpretedBatch(Path scratch, boolean counts) {
        long x = PROBES;
        long least = Long.MAX_VALUE;
        booked = Long.MAX_VALUE;
        for (int batch = 0; batch < BATCHES; batch++) {
            long before = scratch.times[2 * Tree.STRIDE + Tree.ALL];
            long start = System.nanoTime();
            for (int turn = 0; turn < TURNS; turn++) {
                if (counts) {
                    InterpretedCount.enter(0);
                    x = work(x);
                    InterpretedCount.exit(0);
                } else {
                    Interpreted.enter(0);
                    x = work(x);
                    Interpreted.exit(0);
                }
            }
            least = Math.min(least, System.nanoTime() - start);
            booked = Math.min(booked, scratch.times[2 * Tree.STRIDE + Tree.ALL] - before);
        }
        result = x;
        return least;
    }

    private void keep() {
        if (untimed == Long.MAX_VALUE || Timing.mode != Timing.COUNT && timed == Long.MAX_VALUE) {
            return;
        }
        clockPicos = least(clockPicos, clock);
        if (Timing.mode != Timing.COUNT) {
            insidePicos = least(insidePicos, inside - work);
        }
        long outside = Timing.paths == Timing.EXACT ? timed - inside : untimed - work;
        if (Timing.paths != Timing.mode) {
            // In adaptive timing, the reader of the profile adds this cost for each timed call.
            // Here all calls are timed.
            outside -= 2 * clock - (inside - work);
        }
        outsidePicos = least(outsidePicos, outside);
    }

    /**
     * Runs all slow code of paths once, in about a millisecond. So no class is loaded, initialised or linked
     * later, when stack or heap may be exhausted.
     */
    static void rehearsePaths() {
        Path path = new Path(Timing.EXACT, 2, 1, 1);
        path.latencies = new Latencies(false);
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
        for (int site = 20; site < 40; site++) {
            path.alloc(site);
            path.allocArray(site, site << ArraySizes.KIND_BITS);
            path.allocDimension(site, 1, site << ArraySizes.KIND_BITS);
        }
        TreeReader reader = TreeReader.of(path);
        MergedTree sum = new MergedTree();
        TreeMerge merge = new TreeMerge(sum, reader, EndedThreads.mapFor(reader));
        merge.run();
        merge.made();
        sum.clear();
        path.clear();
        Stack.isShallowerThan(0);
        if (Clock.kind == Clock.CPU) {
            Clock.switches();
        }
        Interpreted.isUsed();
        Exact.isUsed();
        EndedThreads.withoutNumbers("thread-1");
    }

    /**
     * Runs the slow code that every snapshot needs once, for the reason given at {@link #rehearsePaths}.
     */
    static void rehearseSnapshot() {
        Lock.backOff(0);
        Snapshot snapshot = new Snapshot(Threads.beginSnapshot(), Counters.all(true));
        snapshot.fill(new long[4096]);
        snapshot.end();
    }

    /** Derives the costs from the cost of a clock reading, by ratios that were measured in compiled rounds. */
    private void guess() {
        clockPicos = least(clockPicos, clock);
        if (Timing.mode != Timing.COUNT) {
            insidePicos = clockPicos;
        }
        outsidePicos = Timing.mode == Timing.EXACT ? clockPicos + clockPicos / 2
                : Timing.paths == Timing.EXACT ? clockPicos / 2 : clockPicos / 6;
    }

    private static long least(long before, long batch) {
        long now = Math.max(1, batch * 1000 / TURNS);
        return before == 0 ? now : Math.min(before, now);
    }

    private static long batch(int kind) {
        return batch(kind, Threads.NOBODYS);
    }

    /**
     * Runs the batches of one kind, whose probes use {@code scratch}. Returns the shortest time of a batch in
     * nanoseconds.
     */
    private static long batch(int kind, Path scratch) {
        long x = kind;
        long least = Long.MAX_VALUE;
        booked = Long.MAX_VALUE;
        for (int batch = 0; batch < BATCHES; batch++) {
            long before = scratch.times[2 * Tree.STRIDE + Tree.ALL];
            long start = System.nanoTime();
            for (int turn = 0; turn < TURNS; turn++) {
                if (kind == PROBES) {
                    Tracker.enter(0);
                    x = work(x);
                    Tracker.exit(0);
                } else if (kind == EXACT_PROBES) {
                    Exact.enter(0);
                    x = work(x);
                    Exact.exit(0);
                } else if (kind == WORK) {
                    x = work(x);
                } else if (kind == CLOCK) {
                    Clock.now();
                } else {
                    empty(turn);
                    empty(turn);
                }
            }
            least = Math.min(least, System.nanoTime() - start);
            booked = Math.min(booked, scratch.times[2 * Tree.STRIDE + Tree.ALL] - before);
        }
        result = x;
        return least;
    }

    /** Computes a chain of multiplications, each of which needs the result of the previous one. */
    private static long work(long x) {
        return ((((x * x + 1) * x + 3) * x + 5) * x + 7) * x + 9;
    }

    private static void empty(int turn) {
    }
}
