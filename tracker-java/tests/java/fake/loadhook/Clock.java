package loadhook;

/**
 * Replaces the tracker's clock in tests. Time passes when a test advances it. It also passes during a reading: half of
 * it before the time is taken, half of it after.
 */
final class Clock {
    static final int WALL = 0;
    static final int CPU = 1;

    static int kind = WALL;
    static long time;
    static long cost;

    private Clock() {
    }

    static long now() {
        long reading = time + cost / 2;
        time += cost;
        return reading;
    }
}
