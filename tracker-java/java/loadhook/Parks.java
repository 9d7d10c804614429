package loadhook;

/**
 * The class that code injected into {@code java.util.concurrent.locks.LockSupport} calls, if an agent records waits. Its
 * methods take no lock and allocate nothing, because a thread that parks may hold any lock.
 */
public final class Parks {
    /**
     * True once the agent's functions can be called. A JVM does not find them while it attaches the agent. A call would
     * then throw an error in a thread of the program.
     */
    private static volatile boolean isLinked;

    private Parks() {
    }

    /** Links the agent's functions, and returns whether that was possible. */
    static boolean link() {
        try {
            parks(null, null);
            parked(null);
            isLinked = true;
        } catch (UnsatisfiedLinkError notYet) {
            isLinked = false;
        }
        return isLinked;
    }

    /** Called when a thread is about to park. The blocker is null if the method that parks has none. */
    public static void enter(Object blocker, int method) {
        if (isLinked) {
            parks(Thread.currentThread(), blocker);
        }
    }

    /** Called when a thread no longer parks. A virtual thread may have another carrier then. */
    public static void exit(int method) {
        if (isLinked) {
            parked(Thread.currentThread());
        }
    }

    /** Called in handlers of the methods that park, where nothing is to be done. */
    public static void caught(int method) {
    }

    private static native void parks(Thread thread, Object blocker);

    private static native void parked(Thread thread);
}
