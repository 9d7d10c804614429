package loadhook;

/**
 * Runs workloads whose self times are known, with many seeds. The test drives clock and ticks. Prints for each seed the
 * nodes of the tree as in a snapshot, each with its true self time.
 */
public final class SelfTimes {
    private static final int SEEDS = 200;
    private static final int WORKLOADS = 3;
    /** The workload of a thread that waits and works in short turns. */
    private static final int WAITING = 3;

    private final Path path;
    private final Path truths;
    /** Random numbers of the workload, which are the same for all seeds. */
    private long draws = 88172645463325252L;
    private long tickDraws;
    private long nextTick;
    /** Elapsed time during which no CPU time passed, for the CPU clock. */
    private long waited;

    private SelfTimes(long seed) {
        path = new Path(Timing.ADAPTIVE, 8, 8, seed);
        truths = new Path(Timing.EXACT, 8, 8, 1);
        tickDraws = seed;
        Ticker.stop();
        Ticker.tick(Clock.time);
        nextTick = Clock.time + distance();
        // The program begins at a random moment between two ticks.
        pass(100000000 + drawTick() % 100000000);
    }

    /**
     * Runs all workloads under the given clock, {@code wall} or {@code cpu}. With {@code waiting}, runs the workload
     * that waits, under the CPU clock.
     */
    public static void main(String[] args) {
        Clock.kind = args[0].equals("wall") ? Clock.WALL : Clock.CPU;
        boolean waiting = args[0].equals("waiting");
        StringBuilder out = new StringBuilder();
        for (int workload = waiting ? WAITING : 0; workload < (waiting ? WAITING + 1 : WORKLOADS); workload++) {
            for (int seed = 1; seed <= SEEDS; seed++) {
                SelfTimes run = new SelfTimes(seed * 0x9E3779B97F4A7C15L);
                run.work(workload);
                run.print(workload, out);
            }
        }
        System.out.print(out);
    }

    private void print(int workload, StringBuilder out) {
        TreeReader reader = new TreeReader(path);
        TreeReader truth = new TreeReader(truths);
        out.append("TREE ").append(workload).append('\n');
        for (int node = Tree.STRIDE; node < reader.end; node += Tree.STRIDE) {
            out.append("NODE ").append(reader.parent(node) / Tree.STRIDE - 1).append(' ').append(reader.method(node));
            out.append(' ').append(reader.calls(node));
            out.append(' ').append(reader.value(node, Tree.TIMED)).append(' ').append(reader.value(node, Tree.ALL));
            out.append(' ').append(reader.choose(node).outermost()).append(' ').append(reader.value(node, Tree.CHILD));
            out.append(' ').append(reader.variance(node)).append(' ').append(reader.ticks(node, 0));
            out.append(' ').append(Double.longBitsToDouble(reader.tickVarianceBits(node)));
            out.append(' ').append(truth.value(node, Tree.ALL) - truth.value(node, Tree.CHILD)).append('\n');
        }
    }

    private void work(int workload) {
        enter(0);
        if (workload == WAITING) {
            waitInTurns();
        }
        for (int call = 0; workload < WORKLOADS && call < 24; call++) {
            enter(1);
            if (workload == 0) {
                many(2000, 3);
            } else if (workload == 1) {
                // The driver has almost no time of its own: nearly all of its time is spent in the methods that it
                // calls.
                many(2000, 40);
                enter(5);
                pass(200000);
                exit(5);
            } else {
                for (int root = 0; root < 10; root++) {
                    walk(8);
                }
            }
            exit(1);
        }
        exit(0);
    }

    /** Works about 8 µs and waits 50 µs, again and again. */
    private void waitInTurns() {
        for (int turn = 0; turn < 6000; turn++) {
            enter(1);
            for (int call = 0; call < 60; call++) {
                draws = Timing.shuffled(draws);
                enter(2);
                pass(40 + (draws >>> 33) % 80);
                enter(3);
                pass(60);
                exit(3);
                exit(2);
            }
            exit(1);
            enter(4);
            pass(400);
            park(50000);
            pass(400);
            exit(4);
        }
    }

    /** Calls two methods, whose calls are mostly short; a few are long. */
    private void many(int calls, int kind) {
        for (int call = 0; call < calls; call++) {
            draws = Timing.shuffled(draws);
            long draw = draws >>> 33;
            enter(2);
            pass(60 + draw % 100);
            enter(3);
            pass(draw % 100 == 0 ? 20000 + draw % 7 * 10000 : 50);
            if (draw % 10 < kind) {
                enter(4);
                pass(draw % 200 == 3 ? 100000 : 300);
                exit(4);
            }
            exit(3);
            exit(2);
        }
    }

    /**
     * Runs a recursive visitor of a tree: method 2 calls method 3, which calls method 2 for each
     * child.
     */
    private void walk(int deeper) {
        draws = Timing.shuffled(draws);
        long draw = draws >>> 33;
        enter(2);
        pass(40);
        enter(4);
        pass(draw % 50 == 0 ? 5000 + draw % 30000 : 30 + draw % 50);
        exit(4);
        if (deeper > 0) {
            enter(3);
            pass(20);
            walk(deeper - 1);
            walk(deeper - 1);
            exit(3);
        }
        exit(2);
    }

    private void enter(int method) {
        path.enter(method);
        truths.enter(method);
    }

    private void exit(int method) {
        path.exit(method);
        truths.exit(method);
    }

    /** Lets the thread work: both clocks advance, and ticks come when they are due. */
    private void pass(long nanos) {
        long end = Clock.time + nanos;
        while (nextTick - waited <= end) {
            Clock.time = nextTick - waited;
            Ticker.tick(nextTick);
            nextTick += distance();
        }
        Clock.time = end;
    }

    /** Lets the thread wait: only elapsed time advances, and ticks come when they are due. */
    private void park(long nanos) {
        long end = waited + nanos;
        while (nextTick - Clock.time <= end) {
            waited = nextTick - Clock.time;
            Ticker.tick(nextTick);
            nextTick += distance();
        }
        waited = end;
    }

    private long distance() {
        return 500000 + drawTick() % 1000000;
    }

    private long drawTick() {
        tickDraws = Timing.shuffled(tickDraws);
        return tickDraws >>> 20;
    }
}
