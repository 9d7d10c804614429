package loadhook;

/**
 * The class that code injected into {@code java.util.concurrent.locks.LockSupport} calls, if an agent records waits. Its
 * methods take no lock and allocate nothing, because a thread that parks may hold any lock.
 *
 * <p>An error of ours would leave a lock of the program half taken, so errors are caught. A StackOverflowError at the
 * entry of a probe cannot be caught in it, but where the stack is as full as that, LockSupport has no room for its own
 * calls either. An exception that another thread throws into this one, as {@code Thread.stop} does, is the program's and
 * passes.
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
        try {
            if (isLinked) {
                parks(Thread.currentThread(), blocker);
            }
        } catch (VirtualMachineError | LinkageError notRecorded) {
            // The program's thread parks all the same.
        }
    }

    /** Called when a thread no longer parks. A virtual thread may have another carrier then. */
    public static void exit(int method) {
        try {
            if (isLinked) {
                parked(Thread.currentThread());
            }
        } catch (VirtualMachineError | LinkageError notRecorded) {
            // The wait is not in the profile.
        }
    }

    /** Called in handlers of the methods that park, where nothing is to be done. */
    public static void caught(int method) {
    }

    private static native void parks(Thread thread, Object blocker);

    private static native void parked(Thread thread);
}
