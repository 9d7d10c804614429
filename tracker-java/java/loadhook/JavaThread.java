package loadhook;

/**
 * Stands for {@code java.lang.Thread} in calls of methods that Java 8 lacks. build.rs renames the references and leaves this
 * class out. A call that the running JDK does not know is never reached, hence never resolved.
 */
abstract class JavaThread {
    /** JDK 19 on: final, which {@code getId()} is not. */
    abstract long threadId();

    /** JDK 19 on. */
    abstract boolean isVirtual();

    /** JDK 19 on: the platform thread on which the current thread runs. Only {@code java.lang} may call it. */
    static Thread currentCarrierThread() {
        return null;
    }
}
