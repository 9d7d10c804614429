package loadhook;

/**
 * The processor time of threads. The wall time of a thread's calls less its processor time is the time for which
 * the thread waited.
 *
 * Only the agent can read the processor time. Every method here returns {@link #UNKNOWN} if there is no agent.
 * The same holds for virtual threads, whose processor time the JVM does not know.
 */
final class CpuTime {
    static final long UNKNOWN = -1;

    /** True if the agent can read processor times. Set once, before the first probe. */
    private static boolean readable;

    private CpuTime() {
    }

    /**
     * Finds out whether the agent can read processor times. The native method is linked here,
     * because no class has probes yet.
     */
    static void find() {
        if (Timing.mode == Timing.COUNT || Timing.mode == Timing.SAMPLED || Clock.kind != Clock.WALL) {
            // Under the CPU clock there is no wall time to compare with.
            return;
        }
        try {
            readable = Tracker.cpuNanos(Thread.currentThread()) >= 0;
        } catch (UnsatisfiedLinkError error) {
            readable = false;
        }
    }

    /** Returns the processor time of a thread since it began, in nanoseconds. */
    static long of(Thread thread) {
        if (!readable || thread == null || Ids.isVirtual(thread)) {
            return UNKNOWN;
        }
        return Tracker.cpuNanos(thread);
    }

    static long between(long began, long end) {
        return began < 0 || end < began ? UNKNOWN : end - began;
    }

    static long sum(long one, long other) {
        return one < 0 || other < 0 ? UNKNOWN : one + other;
    }
}
