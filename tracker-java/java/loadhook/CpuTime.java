package loadhook;

/**
 * The processor time of threads. Compared with the wall time of a thread's calls, it shows how long
 * the thread waited.
 *
 * Only the agent can read it. Every method here returns {@link #UNKNOWN} without an agent, and for virtual threads, whose
 * processor time the VM does not know.
 */
final class CpuTime {
    static final long UNKNOWN = -1;

    /** Set once, before the first probe. */
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

    /** The processor time of a thread since it began, in nanoseconds. */
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
