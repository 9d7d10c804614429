package loadhook;

/**
 * A coarse clock that all threads can read at the cost of a field. About every millisecond a thread writes the
 * time there. Such a time is called a tick.
 *
 * So the last tick before the beginning and before the end of every call is known, whether the call is timed or
 * not. The time between these two ticks is a coarse measure of the call. It has no bias, because ticks are
 * independent of the program: its mean is the length of the interval, even if ticks are late or irregular.
 * Applied to the interval from a call's beginning to {@link #LIMIT} before its end, it estimates the call's
 * duration beyond the limit. A call shorter than the limit has no such interval.
 */
final class Ticker implements Runnable {
    /** If not all calls are timed, ticks measure the part of a call beyond this many nanoseconds. */
    static final long LIMIT = 1 << 15;

    /** Binary logarithm of the unit of ticks in nanoseconds. Ticks are even, so that frames can use the lowest bit. */
    private static final int SHIFT = 13;

    /**
     * Address of the agent's ticks, outside the heap: the last tick, the one before, and the spread; 0 without an
     * agent. The agent's thread does not belong to the JVM. So it ticks even while the JVM is stopped, and calls
     * include that time.
     */
    private static final long ADDRESS = address();

    /**
     * Without an agent: the last tick; 0 before the first one. The counter
     * overflows after 9 hours.
     */
    private static int time;
    /** Without an agent: the tick before the last one. */
    private static int before;
    /**
     * Moving means of the distances between ticks in milliseconds, of their squares and of their cubes. The
     * initial values hold for distances from 0.5 to 1.5 ms.
     */
    private static double mean = 1;
    private static double square = 13 / 12.0;
    private static double cube = 1.25;

    /**
     * Makes the next tick in a JVM without an agent. The caller waits for a random time between two ticks.
     */
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

    /** Ends the ticks. They do not measure calls that begin from now on. */
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

    /**
     * Returns the last tick. The result can be an earlier tick if the write of another thread becomes visible late.
     */
    static int last() {
        return ADDRESS != 0 ? Memory.at(ADDRESS) : time;
    }

    /**
     * Returns the variance of a long interval that ticks measure. The interval's error is the difference of two
     * ages. An age is the time from the last tick before a moment to that moment. Long distances between ticks
     * have more weight, because more moments lie in them.
     */
    private static double spread() {
        if (ADDRESS != 0) {
            // The agent writes the standard deviation, in nanoseconds.
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

    /**
     * Estimates the part of a call beyond the limit, for a call that ends now; 0 if there were no ticks when it
     * began.
     */
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

    /**
     * Returns the units between two ticks. The counter overflows after 9 hours, so a slightly negative difference
     * counts as 0.
     */
    static long units(int from, int to) {
        long units = to - from & 0xFFFFFFFFL;
        return units > 0xFFFF0000L ? 0 : units;
    }

    static long nanos(long units) {
        return units << SHIFT;
    }

    /** Returns the nanoseconds since a tick, rounded like ticks. */
    static long since(int tick) {
        return nanos(units(tick, units(Clock.wall())));
    }

    /**
     * Returns the variance of an estimate by {@link #beyond}. If in doubt, the result is too large rather than too
     * small.
     */
    static double variance(int began, long beyond, long now) {
        double distance = (long) (last() - before()) << SHIFT;
        if (beyond > distance) {
            // The errors are the part before the first tick and the part after the last one. Their
            // size follows from the distances of many ticks, because the last few may happen to be
            // punctual.
            return spread();
        }
        // There was one tick, which hits the interval by chance. The variance is the square of the estimate less
        // the square of the interval. The length of the interval is estimated as twice the part after the tick,
        // because the tick divides it at random.
        long after = ((long) (lastBefore(now) - began) << SHIFT) - beyond;
        long unknown = beyond - 2 * after;
        return unknown < 0 ? 0 : (double) beyond * unknown;
    }

    /** Returns the nearest even number of units, so that the error is 0 on average. */
    private static int units(long nanos) {
        return (int) (nanos + (1 << SHIFT) >> SHIFT) & ~1;
    }

    /** Returns the last unit whose ticks came, on average, before {@code now} less the limit. */
    private static int lastBefore(long now) {
        return (int) (now - LIMIT >> SHIFT);
    }
}
