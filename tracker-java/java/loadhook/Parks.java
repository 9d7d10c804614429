package loadhook;

/**
 * The class that code injected into {@code java.util.concurrent.locks.LockSupport} calls, if an agent records waits. Its
 * methods take no lock and allocate nothing, because a thread that parks may hold any lock.
 *
 * <p>An error of the agent would leave a lock of the program half taken, so errors are caught. A StackOverflowError
 * at the entry of a probe cannot be caught in the probe. But if the stack is that full, LockSupport has no room for
 * its own calls either. An exception that another thread throws into the parking thread, as {@code Thread.stop} does,
 * belongs to the program and is not caught.
 */
public final class Parks {
    /**
     * True once the agent's functions can be called. While the JVM attaches the agent, the JVM does not find these
     * functions yet, and a call would throw an error in a thread of the program.
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

    /** Called when a thread is about to park. The blocker is null if LockSupport's method takes none. */
    public static void enter(Object blocker, int method) {
        try {
            if (isLinked) {
                parks(Thread.currentThread(), blocker);
            }
        } catch (VirtualMachineError | LinkageError notRecorded) {
            // The program's thread parks nevertheless.
        }
    }

    /** Called when a thread has stopped parking. A virtual thread may then have another carrier than before. */
    public static void exit(int method) {
        try {
            if (isLinked) {
                parked(Thread.currentThread());
            }
        } catch (VirtualMachineError | LinkageError notRecorded) {
            // This wait will be missing from the profile.
        }
    }

    /** Called at the beginning of exception handlers in the methods that park. There is nothing to do. */
    public static void caught(int method) {
    }

    private static native void parks(Thread thread, Object blocker);

    private static native void parked(Thread thread);
}
