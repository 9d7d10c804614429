package loadhook;

/**
 * Estimates the time of calls whose true time is known, with many seeds. The test drives clock and ticks. Prints a line
 * for each workload and each way to tick: the true time; the mean of the estimates, and its standard error; the mean of
 * the variances that the tracker states; the variance of the estimates; the share of calls that were timed; and the
 * share of estimates within three of their own standard errors.
 */
public final class Estimates {
    private static final int SEEDS = 500;

    private static final int NO_TICKS = 0;
    private static final int TICKS = 1;
    private static final int LATE_TICKS = 2;

    private Path path;
    private Path truths;
    private final int ticking;
    /** Random numbers of the workload, which are the same for all seeds. */
    private long draws = 88172645463325252L;
    private long tickDraws;
    private long nextTick;

    private Estimates(long seed, int ticking) {
        this.ticking = ticking;
        path = new Path(Timing.ADAPTIVE, 8, 8, seed);
        truths = new Path(Timing.EXACT, 8, 8, 1);
        tickDraws = seed;
        Ticker.stop();
        if (ticking != NO_TICKS) {
            // The program begins at a random moment between two ticks.
            Ticker.tick(Clock.time);
            nextTick = Clock.time + distance();
            pass(100000000 + drawTick() % 100000000);
        }
    }

    public static void main(String[] args) {
        for (int workload = 0; workload < 6; workload++) {
            run(workload, NO_TICKS);
        }
        for (int workload = 6; workload < 9; workload++) {
            for (int ticking = NO_TICKS; ticking <= LATE_TICKS; ticking++) {
                run(workload, ticking);
            }
        }
        run(1, TICKS);
    }

    private static void run(int workload, int ticking) {
        double sum = 0;
        double squares = 0;
        double stated = 0;
        double timed = 0;
        int covered = 0;
        long truth = 0;
        long calls = 0;
        for (int seed = 1; seed <= SEEDS; seed++) {
            Estimates run = new Estimates(seed * 0x9E3779B97F4A7C15L, ticking);
            run.work(workload);
            TreeReader reader = new TreeReader(run.path);
            // The last node is the one that the workload is about.
            int node = reader.end - Tree.STRIDE;
            double estimate = nanos(reader, workload, node);
            double variance = reader.variance(node);
            truth = nanos(new TreeReader(run.truths), workload, node);
            calls = reader.calls(node);
            sum += estimate;
            squares += (estimate - truth) * (estimate - truth);
            stated += variance;
            timed += reader.value(node, Tree.TIMED);
            covered += Math.abs(estimate - truth) <= Math.max(3 * Math.sqrt(variance), 0.05 * truth) ? 1 : 0;
            run.addsUp();
        }
        double variance = squares / SEEDS;
        System.out.println("RESULT " + workload + " " + ticking + " " + truth + " " + sum / SEEDS + " "
                + Math.sqrt(variance / SEEDS) + " " + stated / SEEDS + " " + variance + " " + timed / SEEDS / calls + " "
                + (double) covered / SEEDS);
    }

    private static long nanos(TreeReader reader, int workload, int node) {
        return workload == 7 ? reader.choose(node).outermost() : reader.value(node, Tree.ALL);
    }

    private void work(int workload) {
        int calls = workload == 5 ? 700 : workload == 7 ? 10000 : 20000;
        for (int call = 0; call < calls; call++) {
            draws = Timing.shuffled(draws);
            long nanos = nanos(workload, call, draws >>> 33);
            if (workload == 7) {
                recur(nanos, (int) (draws & 3));
            } else if (workload == 8) {
                fail(nanos);
            } else {
                enter(1);
                pass(nanos);
                exit(1);
            }
        }
    }

    private void recur(long nanos, int deeper) {
        enter(1);
        pass(nanos / 2);
        if (deeper > 0) {
            recur(nanos, deeper - 1);
        }
        pass(nanos - nanos / 2);
        exit(1);
    }

    /** Method 2 throws an exception that method 1 catches, so method 2 ends without an exit probe. */
    private void fail(long nanos) {
        enter(1);
        pass(20);
        enter(2);
        pass(nanos);
        path.caught(1);
        truths.caught(1);
        exit(1);
    }

    private static long nanos(int workload, int call, long draw) {
        switch (workload) {
            case 0: // all alike
                return 40;
            case 1: // slow at first
                return call < 200 ? 5000 : 50;
            case 2: // two kinds, by chance
                return draw % 100 == 0 ? 10000 : 40;
            case 3: // two kinds, in step with powers of two
                return call % 64 == 0 ? 10000 : 40;
            case 4: // fast, slow, fast again
                return call / 4000 % 2 == 0 ? 40 : 3000;
            case 5: // few calls
                return 40 + draw % 200;
            case 6: // long ones among short ones, and rare pauses
                return draw % 5000 < 2 ? 10000000 : draw % 200 == 0 ? 1000000 : 50;
            default: // rare pauses
                return draw % 500 == 0 ? 2500000 : 50;
        }
    }

    private void enter(int method) {
        path.enter(method);
        truths.enter(method);
    }

    private void exit(int method) {
        path.exit(method);
        truths.exit(method);
    }

    /** Lets time pass, and ticks when a tick is due. */
    private void pass(long nanos) {
        long end = Clock.time + nanos;
        while (ticking != NO_TICKS && nextTick <= end) {
            Clock.time = nextTick;
            Ticker.tick(nextTick);
            nextTick += distance();
        }
        Clock.time = end;
    }

    private long distance() {
        long distance = 500000 + drawTick() % 1000000;
        // One tick in five is late, by up to a few time slices of other processes.
        return ticking == LATE_TICKS && drawTick() % 5 == 0 ? distance + drawTick() % 12000000 : distance;
    }

    private long drawTick() {
        tickDraws = Timing.shuffled(tickDraws);
        return tickDraws >>> 20;
    }

    /** Checks that self times add up to the time of the calls without a caller. */
    private void addsUp() {
        long self = 0;
        for (int node = Tree.STRIDE; node < path.end; node += Tree.STRIDE) {
            self += path.times[2 * node + Tree.ALL] - path.times[2 * node + Tree.CHILD];
        }
        if (self != path.times[Tree.ROOT + Tree.CHILD]) {
            throw new IllegalStateException("self " + self + " of " + path.times[Tree.ROOT + Tree.CHILD]);
        }
    }
}
