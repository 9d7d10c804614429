package loadhook;

/** Tells the current thread's processor time, in nanoseconds, where no agent does. */
abstract class CpuClock {
    abstract long now();
}
