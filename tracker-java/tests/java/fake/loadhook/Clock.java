package loadhook;

/**
 * Replaces the real clock. Time passes when a test advances it, and while the clock is read: half
 * of that before the reading is taken.
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
