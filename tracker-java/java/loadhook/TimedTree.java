package loadhook;

/** A tree that books the durations of calls. */
class TimedTree extends Tree {
    /**
     * The number of square nanoseconds in a unit of {@link #ticks}' variances. With this unit, a long is large
     * enough for months.
     */
    static final double TICK_SQUARE = 1024;

    static final long[] NO_TICKS = {};

    /**
     * The nanoseconds by which refused time may exceed given time. So a thread that begins with short waits keeps
     * its ticks.
     */
    private static final long REFUSED_AT_FIRST = 30000000;

    /**
     * Two words for each node: the node's own time by ticks, without the time of its callees, and the variance of
     * that time in units of {@link #TICK_SQUARE}. The array is made at the first tick.
     */
    long[] ticks = NO_TICKS;
    /** True if ticks were lost because there was no room. Then the other ticks are useless. */
    private boolean tickless;

    private long seed;

    TimedTree(int mode, int nodes, long seed) {
        super(mode, nodes);
        this.seed = seed == 0 ? 1 : seed;
    }

    /** Returns the weight of the next timed call of a node. */
    final int weight(int node) {
        return period((int) times[2 * node + LINK]);
    }

    /**
     * Draws the next call to time. The result is for {@link #grantBlock} and contains the number of
     * calls before it, at most LEFT.
     */
    final long nextBlock(int node) {
        long[] times = this.times;
        int at = 2 * node;
        int period = Timing.period(mode, granted(times[at + GRANTED]), times[at + TIMED], times[at + RECENT]);
        int skipped = period == 1 ? 0 : draw(period);
        int left = rest((int) times[at + LINK]) + skipped;
        return (long) left << 32 | block(period, period - 1 - skipped);
    }

    /**
     * Counts a call, and grants the calls that come before the next timed one. {@link #nextBlock} has drawn the timed
     * call.
     */
    final void grantBlock(int node, long next) {
        grant(node, (int) (next >> 32));
        // No method may be called below: a StackOverflowError would leave the update half done.
        int at = 2 * node;
        times[at + LINK] = times[at + LINK] & 0xFFFFFFFF00000000L | next & 0xFFFFFFFFL;
    }

    /** Returns a random number from 0 to {@code period - 1}. All of them have equal probability. */
    private int draw(int period) {
        long shuffled = Timing.shuffled(seed);
        seed = shuffled;
        return (int) (shuffled >>> 32) & period - 1;
    }

    /** Books a timed call of weight 1. */
    final void book(int node, int from, long nanos) {
        long[] times = this.times;
        int at = 2 * node;
        // The clock of a thread may fail and go back, so a duration can be negative.
        long sample = nanos < 0 ? 0 : nanos;
        long timed = times[at + TIMED];
        long recent = times[at + RECENT];
        int work = rows[node + WORK];
        // No method may be called below: a StackOverflowError would leave the update half done.
        times[at + ALL] += sample;
        if (work >= 2 * CALL) {
            times[at + NESTED] += sample;
        }
        times[2 * from + CHILD] += sample;
        times[at + RECENT] = timed == 0 ? sample : recent + (sample - recent >> 4);
        times[at + TIMED] = timed + 1;
    }

    /** Books a timed call. */
    final void book(int node, int from, long nanos, long weight, int began, long now) {
        long[] times = this.times;
        int at = 2 * node;
        // The clock of a thread may fail and go back.
        long sample = Timing.sample(nanos < 0 ? 0 : nanos, weight, began);
        long beyond = weight == 1 ? 0 : Ticker.beyond(began, now);
        long estimate = weight * sample + beyond;
        long variance = times[at + VARIANCE];
        if (weight > 1) {
            variance = widened(variance, weight, sample - times[at + RECENT]);
        }
        if (beyond != 0) {
            variance = widened(variance, Ticker.variance(began, beyond, now));
        }
        long recent = Timing.recent(times[at + RECENT], times[at + TIMED], sample);
        int work = rows[node + WORK];
        // No method may be called below: a StackOverflowError would leave the update half done.
        times[at + ALL] += estimate;
        if (work >= 2 * CALL) {
            times[at + NESTED] += estimate;
        }
        times[2 * from + CHILD] += estimate;
        times[at + VARIANCE] = variance;
        times[at + RECENT] = recent;
        times[at + TIMED]++;
    }

    /**
     * Makes room for the ticks of all nodes. Returns false if there is no room. The ticks of this tree are then
     * lost.
     */
    final boolean roomForTicks() {
        int length = rows.length / 2;
        if (ticks.length >= length) {
            return true;
        }
        if (!tickless && hasRoom(8L * length)) {
            try {
                ticks = Arrays.copy(ticks, length);
                grown();
                return true;
            } catch (OutOfMemoryError error) {
                // If the allocation fails, there is no room.
            }
        }
        loseTicks();
        return false;
    }

    final void loseTicks() {
        tickless = true;
        ticks = NO_TICKS;
    }

    /** Returns whether ticks were lost for lack of room. */
    final boolean isTickless() {
        return tickless;
    }

    /** Returns the nanoseconds for which the ticks stand. */
    long given() {
        return 0;
    }

    /** Returns the nanoseconds whose ticks do not count, see {@link UnwindingPath#attribute}. */
    long refused() {
        return 0;
    }

    /**
     * Returns whether the ticks of most of the time do not count. The few ticks that do count say nothing about the
     * rest, so they are not reported. This is decided when the tree is read, so the order of the times does not
     * matter.
     */
    static boolean isMostlyRefused(long given, long refused) {
        return refused > given + REFUSED_AT_FIRST;
    }

    /** Returns a node's own time by ticks; with {@code of} 1, the variance of that time. */
    final long ticks(int node, int of) {
        long[] ticks = this.ticks;
        return node / 2 < ticks.length ? ticks[node / 2 + of] : 0;
    }

    /** Takes over another tree, its ticks included. */
    void adopt(TimedTree other) {
        ticks = other.ticks;
        tickless = other.tickless;
        super.adopt(other);
        other.ticks = NO_TICKS;
    }

    @Override
    void clear() {
        super.clear();
        ticks = NO_TICKS;
        tickless = false;
    }

    @Override
    long bytes() {
        return super.bytes() + 8L * ticks.length;
    }

    /** Books the duration, as estimated by ticks, of a call that was not timed. */
    final void bookTicks(int node, int from, int began, long now) {
        long beyond = Ticker.beyond(began, now);
        if (beyond != 0) {
            long[] times = this.times;
            int at = 2 * node;
            long variance = widened(times[at + VARIANCE], Ticker.variance(began, beyond, now));
            int work = rows[node + WORK];
            // No method may be called below: a StackOverflowError would leave the update half done.
            times[at + ALL] += beyond;
            if (work >= 2 * CALL) {
                times[at + NESTED] += beyond;
            }
            times[2 * from + CHILD] += beyond;
            times[at + VARIANCE] = variance;
        }
    }

    /**
     * Adds the variance of a block of {@code weight} calls of which one was
     * timed: weight * (weight - 1) times the variance of one call. That variance
     * is estimated by the squared difference from the mean so far.
     * The duration of the previous call could not replace the mean: after a long call blocks are short, so the
     * long call would count by half.
     */
    private static long widened(long bits, long weight, double difference) {
        return widened(bits, (double) weight * (weight - 1) * difference * difference);
    }

    private static long widened(long bits, double variance) {
        return Double.doubleToRawLongBits(Double.longBitsToDouble(bits) + variance);
    }
}
