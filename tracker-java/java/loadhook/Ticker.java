package loadhook;

/**
 * The time as all threads see it without reading a clock: about every millisecond somebody writes it down.
 *
 * What is known of every call, timed or not, is then the ticks between its beginning and its end. Ticks that come
 * independently of the program measure any interval without bias, though coarsely: on average the time between the last
 * tick before its beginning and the last tick before its end is its length. That holds when ticks are late or irregular,
 * too. Taken of the interval from a call's beginning to {@link #LIMIT} before its end, it estimates what the call lasts
 * beyond the limit; a call shorter than the limit has no such interval.
 */
final class Ticker implements Runnable {
    /** What calls last beyond this, in nanoseconds, is told by ticks where not all calls are timed. */
    static final long LIMIT = 1 << 15;

    /** Ticks count in units of 2^13 ns and are even: the lowest bit is free for those who keep them. */
    private static final int SHIFT = 13;

    /**
     * Where the agent ticks, outside the heap: the last tick, the one before, and the spread. Its thread is none of the VM's, so that it
     * ticks while the VM stops, too, and a call sees how long it was stopped. 0 without an agent.
     */
    private static final long ADDRESS = address();

    /** Without an agent: the last tick, which repeats after 9 hours; 0 as long as nobody ticks. */
    private static int time;
    /** The tick before. */
    private static int before;
    /** Moving means of the distances of ticks in milliseconds, of their squares and cubes; at first of 0.5 to 1.5 ms. */
    private static double mean = 1;
    private static double square = 13 / 12.0;
    private static double cube = 1.25;

    /** Without an agent: the next tick, for whoever calls at distances by chance. */
    @Override
    public void run() {
        tick(System.nanoTime());
    }

    static void tick(long now) {
        int units = units(now);
        if (time != 0) {
            double distance = ((long) (units - time) << SHIFT) / 1e6;
            mean += (distance - mean) / 256;
            square += (distance * distance - square) / 256;
            cube += (distance * distance * distance - cube) / 256;
        }
        before = time;
        time = units == 0 ? 2 : units;
    }

    /** Ends the ticks: calls that begin from now on are timed without them. */
    static void stop() {
        time = 0;
    }

    private static long address() {
        try {
            return Tracker.tickAddress(System.nanoTime());
        } catch (UnsatisfiedLinkError error) {
            return 0;
        }
    }

    /** The last tick; whoever sees it late has a late tick. */
    static int last() {
        return ADDRESS != 0 ? Memory.at(ADDRESS) : time;
    }

    /**
     * The variance of what ticks say of a long interval: of the difference of two ages, an age being the time since the
     * tick before a moment. A long distance has more moments in it.
     */
    private static double spread() {
        if (ADDRESS != 0) {
            // Its root, in nanoseconds.
            double deviation = Memory.at(ADDRESS + 8);
            return deviation * deviation;
        }
        double age = square / (2 * mean);
        double variance = cube / (3 * mean) - age * age;
        return variance < 0 ? 0 : 2e12 * variance;
    }

    static int before() {
        return ADDRESS != 0 ? Memory.at(ADDRESS + 4) : before;
    }

    /** An estimate of what a call that ends now lasts beyond the limit; 0 if nobody ticked when it began. */
    static long beyond(int began, long now) {
        int last = last();
        if (last == began || began == 0 || Clock.kind != Clock.WALL) {
            return 0;
        }
        if (last - lastBefore(now) > 0) {
            last = before();
        }
        return nanos(units(began, last));
    }

    /** What lies between two ticks. They repeat after 9 hours; somewhat below 0 is no interval. */
    static long units(int from, int to) {
        long units = to - from & 0xFFFFFFFFL;
        return units > 0xFFFF0000L ? 0 : units;
    }

    static long nanos(long units) {
        return units << SHIFT;
    }

    /** The variance of such an estimate, rather too large. */
    static double variance(int began, long beyond, long now) {
        double distance = (long) (last() - before()) << SHIFT;
        if (beyond > distance) {
            // What is missing before the first tick, and what follows the last one. By all ticks lately: the last ones
            // may have come on time.
            return spread();
        }
        // One tick hits an interval or not: the square less that of the interval. The tick divides the interval by
        // chance, so twice what follows it stands for the interval.
        long after = ((long) (lastBefore(now) - began) << SHIFT) - beyond;
        long unknown = beyond - 2 * after;
        return unknown < 0 ? 0 : (double) beyond * unknown;
    }

    /** The nearest, so that the error is 0 on average. */
    private static int units(long nanos) {
        return (int) (nanos + (1 << SHIFT) >> SHIFT) & ~1;
    }

    /** A tick in this unit or an earlier one came before the limit, on average. */
    private static int lastBefore(long now) {
        return (int) (now - LIMIT >> SHIFT);
    }
}
