package loadhook;

/**
 * Stands for {@code java.lang.Thread} in calls of methods that Java 8 lacks. build.rs renames the
 * references and leaves this class out. A call of a method that the running JDK lacks is never
 * reached, so it is never resolved.
 */
abstract class JavaThread {
    /** Exists from JDK 19 on. Unlike {@code getId()}, the method is final. */
    abstract long threadId();

    /** Exists from JDK 19 on. */
    abstract boolean isVirtual();

    /**
     * Returns the platform thread on which the current thread runs. Exists from JDK 19 on; only {@code java.lang}
     * may call it.
     */
    static Thread currentCarrierThread() {
        return null;
    }
}
