package loadhook;

/** Reads the current thread's processor time, in nanoseconds, in a JVM without an agent. */
abstract class CpuClock {
    abstract long now();
}
