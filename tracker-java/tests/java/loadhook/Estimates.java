package loadhook;

/**
 * Estimates by many seeds of calls whose true time is known: the clock is a variable. Prints for each workload the true
 * time, the mean of the estimates, the standard error of that mean, the mean of the squared errors that the tracker
 * states, the variance of the estimates, and the share of calls that were timed.
 */
public final class Estimates {
    private static final int SEEDS = 2000;

    private Estimates() {
    }

    public static void main(String[] args) {
        for (int workload = 0; workload < 6; workload++) {
            run(workload);
        }
    }

    private static void run(int workload) {
        double sum = 0;
        double squares = 0;
        double stated = 0;
        double timed = 0;
        long truth = 0;
        int calls = workload == 5 ? 700 : 20000;
        for (int seed = 1; seed <= SEEDS; seed++) {
            Path path = new Path(Timing.ADAPTIVE, 8, 8, seed * 0x9E3779B97F4A7C15L);
            Path truths = new Path(Timing.EXACT, 8, 8, 1);
            // What a workload draws is the same for all seeds.
            long draws = 88172645463325252L;
            for (int call = 0; call < calls; call++) {
                draws = Timing.shuffled(draws);
                long nanos = nanos(workload, call, draws >>> 33);
                path.enter(1);
                truths.enter(1);
                Clock.time += nanos;
                truths.exit(1);
                path.exit(1);
            }
            Reading reading = new Reading(path);
            double estimate = reading.value(Tree.STRIDE, Tree.ALL);
            truth = new Reading(truths).value(Tree.STRIDE, Tree.ALL);
            sum += estimate;
            squares += (estimate - truth) * (estimate - truth);
            stated += reading.variance(Tree.STRIDE);
            timed += reading.value(Tree.STRIDE, Tree.TIMED);
            path.clear();
            truths.clear();
        }
        double variance = squares / SEEDS;
        System.out.println("RESULT " + workload + " " + truth + " " + sum / SEEDS + " " + Math.sqrt(variance / SEEDS) + " "
                + stated / SEEDS + " " + variance + " " + timed / SEEDS / calls);
    }

    private static long nanos(int workload, int call, long draw) {
        switch (workload) {
            case 0: // all alike
                return 40;
            case 1: // slow at first
                return call < 100 ? 4000 : 40;
            case 2: // two kinds, by chance
                return draw % 100 == 0 ? 10000 : 40;
            case 3: // two kinds, in step with powers of two
                return call % 64 == 0 ? 10000 : 40;
            case 4: // fast, slow, fast again
                return call / 4000 % 2 == 0 ? 40 : 3000;
            default: // few calls
                return 40 + draw % 200;
        }
    }
}
