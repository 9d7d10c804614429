package loadhook;

/** The clock that times calls. Tests put another class in its place. */
final class Clock {
    static final int WALL = 0;
    static final int CPU = 1;

    /** The clock's kind. It is set once, before the first call is timed. */
    static int kind = WALL;

    /** The CPU clock; null with an agent, which has a native method for it. */
    static CpuClock cpu;

    private Clock() {
    }

    static long now() {
        return kind == WALL ? System.nanoTime() : cpuNow();
    }

    private static long cpuNow() {
        CpuClock cpu = Clock.cpu;
        return cpu == null ? Tracker.threadCpuNanos() : cpu.now();
    }
}
