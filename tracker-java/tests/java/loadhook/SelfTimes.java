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
    /** The workload of a thread that yields after short turns. */
    private static final int YIELDING = 4;
    /** A workload of short and long calls. */
    private static final int LENGTHS = 5;

    private final Path path;
    private final Path truths;
    /** Random numbers of the workload, which are the same for all seeds. */
    private long draws = 88172645463325252L;
    private long tickDraws;
    private long nextTick;
    /** True if others take the processor from the thread now and then. */
    private final boolean isInterrupted;
    /** The moment of CPU time at which others take the processor. */
    private long turnEnd = Long.MAX_VALUE;

    private SelfTimes(long seed, boolean isInterrupted) {
        this.isInterrupted = isInterrupted;
        path = new Path(Timing.ADAPTIVE, 8, 8, seed);
        truths = new Path(Timing.EXACT, 8, 8, 1);
        tickDraws = seed;
        Ticker.stop();
        Ticker.tick(Clock.time);
        nextTick = Clock.time + distance();
        // The program begins at a random moment between two ticks.
        pass(100000000 + drawTick() % 100000000);
        if (isInterrupted) {
            turnEnd = Clock.time + turn();
        }
    }

    /**
     * Runs all workloads under the given clock, {@code wall} or {@code cpu}. Any other word selects one workload
     * under the CPU clock; {@code interrupted} selects {@code lengths} with interruptions.
     */
    public static void main(String[] args) {
        Clock.kind = args[0].equals("wall") ? Clock.WALL : Clock.CPU;
        boolean isInterrupted = args[0].equals("interrupted");
        int only = args[0].equals("waiting") ? WAITING
                : args[0].equals("yielding") ? YIELDING : args[0].equals("lengths") || isInterrupted ? LENGTHS : -1;
        StringBuilder out = new StringBuilder();
        for (int workload = only < 0 ? 0 : only; workload < (only < 0 ? WORKLOADS : only + 1); workload++) {
            for (int seed = 1; seed <= SEEDS; seed++) {
                SelfTimes run = new SelfTimes(seed * 0x9E3779B97F4A7C15L, isInterrupted);
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
        if (workload == WAITING || workload == YIELDING) {
            workInTurns(workload == YIELDING);
        } else if (workload == LENGTHS) {
            lengths();
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

    /** Works about 8 µs and waits 50 µs, again and again. Or it yields, and others have the processor for 4 ms. */
    private void workInTurns(boolean yields) {
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
            if (yields) {
                Clock.interruptions++;
                park(4000000);
            } else {
                Clock.waits++;
                park(50000);
            }
            pass(400);
            exit(4);
        }
    }

    /** Makes very many short calls, some calls as long as a turn on the processor, and a few that last several turns. */
    private void lengths() {
        for (int round = 0; round < 24; round++) {
            enter(1);
            many(2000, 3);
            enter(5);
            pass(700000);
            exit(5);
            enter(6);
            pass(200000);
            if (round % 6 == 0) {
                pass(9000000);
            }
            exit(6);
            exit(1);
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

    /** Lets the thread work: both clocks advance, and ticks come when they are due. Others may interrupt it. */
    private void pass(long nanos) {
        long end = Clock.time + nanos;
        while (turnEnd < end) {
            run(turnEnd);
            Clock.interruptions++;
            park(1000000 + drawTick() % 6000000);
            turnEnd += turn();
        }
        run(end);
    }

    private void run(long end) {
        while (nextTick - Clock.waited <= end) {
            Clock.time = nextTick - Clock.waited;
            Ticker.tick(nextTick);
            nextTick += distance();
        }
        Clock.time = end;
    }

    /** Lets the thread wait: only elapsed time advances, and ticks come when they are due. */
    private void park(long nanos) {
        long end = Clock.waited + nanos;
        while (nextTick - Clock.time <= end) {
            Clock.waited = nextTick - Clock.time;
            Ticker.tick(nextTick);
            nextTick += distance();
        }
        Clock.waited = end;
    }

    /** Draws how long a thread has the processor until it is interrupted: 1 ms on average, often much less. */
    private long turn() {
        long draw = drawTick() % 1000000;
        return 1 + draw * draw / 1000000 * 3;
    }

    private long distance() {
        return 500000 + drawTick() % 1000000;
    }

    private long drawTick() {
        tickDraws = Timing.shuffled(tickDraws);
        return tickDraws >>> 20;
    }
}
