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

    static long wall() {
        return System.nanoTime();
    }

    /**
     * Returns how often the current thread gave its processor up to wait, in the upper 32 bits, and how often it
     * lost its processor to other threads without waiting, in the lower 32 bits; -1 without an agent.
     */
    static long switches() {
        return cpu == null ? Tracker.threadSwitches() : -1;
    }

    private static long cpuNow() {
        CpuClock cpu = Clock.cpu;
        return cpu == null ? Tracker.threadCpuNanos() : cpu.now();
    }
}
