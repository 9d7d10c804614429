package loadhook;

/**
 * Which calls of a node are timed.
 *
 * The calls of a node are cut into blocks of {@code period} calls, and of each block one call, drawn uniformly, is timed
 * and enters with weight {@code period}. That is unbiased: given all that happened before a block began, each call
 * {@code i} of it is timed with probability 1/period, and what it lasts does not depend on the draw, so the expectation of
 * {@code period * duration} is the sum of the durations of the block's calls; of a block that is cut short by the end of
 * the program, too. The period of a block may depend on everything that was measured before, since it is settled before
 * the block's draw; the sum over blocks keeps its expectation (the differences form a martingale). So neither slow first
 * calls nor two kinds of calls bias the change from "all" to "1 in N". Drawing within blocks instead of drawing each call
 * by itself makes the weights of the complete blocks add up to the number of calls: calls that last alike are estimated
 * without error. Nothing is strided: distances vary between 1 and 2 * period - 1.
 *
 * What is drawn is the call's duration up to a limit; what calls last beyond it is told by {@link Ticker} for every call
 * of a block of two and more, drawn or not, and needs no weight. So a pause of the thread in a short call does not enter a
 * hundred times.
 *
 * A block is never longer than an eighth of the calls before it, so the last, incomplete block weighs little.
 */
final class Timing {
    static final int ADAPTIVE = 0;
    static final int EXACT = 1;
    static final int COUNT = 2;

    /** What was asked for. Set once, before the first call. */
    static int mode = ADAPTIVE;
    /** What paths do: without a compiler a reading of the wall clock costs less than the choice of calls to be timed. */
    static int paths = ADAPTIVE;
    /** Whether the JVM has no compiler. Asked at the start: later the program may have put properties of its own there. */
    static boolean interpreted;

    /** Whether it is the agent that calls the tracker, then a class of {@code java.base}. */
    static boolean isAgents;

    private Timing() {
    }

    static void configure(int asked) {
        interpreted = System.getProperty("java.vm.info", "").startsWith("interpreted");
        isAgents = Tracker.class.getName().startsWith("java.");
        mode = asked;
        paths = interpreted && asked == ADAPTIVE && Clock.kind == Clock.WALL ? EXACT : asked;
    }

    /**
     * The period of the next block, a power of two.
     *
     * Two clock reads and the bookkeeping are about 100 ns: 3 % of what the calls last at most, or 1 ns a call. That is
     * for a node's first ones; the more were timed, the less another one tells, down to an eighth.
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

    /** What a timed call enters with, times its weight: where ticks tell the rest, no more than a limit. */
    static long sample(long nanos, long weight, int began) {
        return weight == 1 || began == 0 || nanos < Ticker.LIMIT || Clock.kind != Clock.WALL ? nanos : Ticker.LIMIT;
    }

    /** Marsaglia's xorshift: the state is never 0. */
    static long shuffled(long seed) {
        seed ^= seed << 13;
        seed ^= seed >>> 7;
        return seed ^ seed << 17;
    }

    /** A moving mean over about 16 timed calls; the first one is the mean. */
    static long recent(long before, long timed, long nanos) {
        return timed == 0 ? nanos : before + (nanos - before >> 4);
    }
}
