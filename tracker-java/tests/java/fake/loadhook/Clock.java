package loadhook;

/**
 * Replaces the tracker's clock in tests. Time passes when a test advances it. Time also passes during a reading: half
 * of the reading's time before the result is taken, half of it after.
 */
final class Clock {
    static final int WALL = 0;
    static final int CPU = 1;

    static int kind = WALL;
    static long time;
    static long cost;
    /** Elapsed time during which the thread had no processor. */
    static long waited;
    /** How often the thread waited; and how often it yielded its processor, or others took it. */
    static long waits;
    static long interruptions;

    private Clock() {
    }

    static long now() {
        long reading = time + cost / 2;
        time += cost;
        return reading;
    }

    static long wall() {
        return time + waited;
    }

    static long switches() {
        return waits << 32 | interruptions;
    }
}
