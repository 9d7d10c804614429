package loadhook;

/**
 * Chooses the calls of a node that are timed.
 *
 * The calls of a node are cut into blocks of {@code period} calls. One call of
 * each block is drawn uniformly. It is timed, and enters the sum with weight
 * {@code period}. This estimate has no bias, for three reasons:
 *
 * - Each call of a block is timed with probability 1/period, and its duration
 *   does not depend on the draw. So the expectation of {@code period *
 *   duration} is the sum of the durations of the block's calls. This also holds
 *   for a block that the end of the program cuts short.
 * - The period of a block is fixed before the draw. So the period may depend on everything that was measured
 *   before: the sum over all blocks keeps its expectation (the differences form a martingale).
 * - So neither slow first calls nor two kinds of calls add a bias when timing
 *   changes from all calls to 1 in N.
 *
 * Calls are drawn within blocks, not independently, so that the weights of complete blocks add up to the number
 * of calls. So calls of equal duration are estimated without error. The distance of two timed calls varies
 * between 1 and 2 * period - 1.
 *
 * The draw measures a call's duration only up to a limit. {@link Ticker} measures the rest for every call of a
 * block of two or more calls, drawn or not. So the rest needs no weight: if a thread pauses in a short call, the
 * pause is not counted a hundred times.
 *
 * A block is never longer than an eighth of the calls before it, so the last,
 * incomplete block weighs little.
 */
final class Timing {
    static final int ADAPTIVE = 0;
    static final int EXACT = 1;
    static final int COUNT = 2;
    /**
     * Calls are not timed, because the agent takes samples instead. Only
     * allocations then need paths.
     */
    static final int SAMPLED = 3;

    /** The requested timing. Set once, before the first call. */
    static int mode = ADAPTIVE;
    /**
     * The timing of paths. Paths use exact instead of adaptive timing in a JVM without a compiler, where reading the
     * wall clock costs less than choosing the calls to time.
     */
    static int paths = ADAPTIVE;
    /** True if the JVM has no compiler. Read at the start, because the program may replace the system properties later. */
    static boolean interpreted;

    /**
     * True if probes are expected in at most some hundred methods. Counts of more methods are exact, too, unless the
     * heap is full, but such a call takes a little longer.
     */
    static boolean hasFewMethods;

    /** True if methods may lose their timing probes while the program runs. Their calls are then counted by method alone. */
    static boolean mayLoseProbes;

    /** True if an agent defined the tracker, which is then a class of {@code java.base}. */
    static boolean isAgents;

    private Timing() {
    }

    static void configure(int asked) {
        interpreted = System.getProperty("java.vm.info", "").startsWith("interpreted");
        isAgents = Tracker.class.getName().startsWith("java.");
        mode = asked;
        if (asked == SAMPLED) {
            paths = COUNT;
        } else {
            paths = interpreted && asked == ADAPTIVE && Clock.kind == Clock.WALL ? EXACT : asked;
        }
    }

    /**
     * Returns the period of the next block, a power of two.
     *
     * Two clock readings and the bookkeeping take about 100 ns. For a node's first timed calls, the
     * limits keep that below 3 % of the calls' durations, or below 1 ns for each call. The more
     * calls were timed, the less one more timed call tells, so the limits fall to an eighth.
     */
    static int period(int mode, long calls, long timed, long recentNanos) {
        if (mode != ADAPTIVE) {
            return 1;
        }
        long limit = timed < 3584 ? 512 + timed << 3 : Ticker.LIMIT;
        int most = 128;
        while (most > 1 && most * recentNanos > limit) {
            most >>= 1;
        }
        int period = 1;
        for (long blocks = calls >> 4; blocks != 0 && period < most; blocks >>= 1) {
            period <<= 1;
        }
        return period;
    }

    /**
     * Returns the duration that enters the sum for each of the {@code weight} calls. The duration is cut at the limit
     * if ticks measure the rest.
     */
    static long sample(long nanos, long weight, int began) {
        return weight == 1 || began == 0 || nanos < Ticker.LIMIT || Clock.kind != Clock.WALL ? nanos : Ticker.LIMIT;
    }

    /** Returns the next state of Marsaglia's xorshift, which is never 0. */
    static long shuffled(long seed) {
        seed ^= seed << 13;
        seed ^= seed >>> 7;
        return seed ^ seed << 17;
    }

    /** Returns a moving mean over about 16 timed calls. The mean begins with the duration of the first call. */
    static long recent(long before, long timed, long nanos) {
        return timed == 0 ? nanos : before + (nanos - before >> 4);
    }
}
