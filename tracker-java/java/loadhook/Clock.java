package loadhook;

/** The clock that calls are timed by. The tests put another class in its place. */
final class Clock {
    static final int WALL = 0;
    static final int CPU = 1;

    /** Set once, before the first call is timed. */
    static int kind = WALL;

    private Clock() {
    }

    static long now() {
        return kind == WALL ? System.nanoTime() : Tracker.threadCpuNanos();
    }
}
