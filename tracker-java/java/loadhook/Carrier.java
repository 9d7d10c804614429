package loadhook;

/** The platform thread under the current thread: a virtual thread's carrier, or the thread itself. */
final class Carrier {
    /**
     * True if the JDK tells a virtual thread's carrier. It does from JDK 19 on, and only classes of {@code java.lang}, hence not
     * without an agent.
     */
    private static final boolean KNOWN = isKnown();

    private Carrier() {
    }

    /** The carrier. Where it is unknown, the current thread, even if that is virtual. */
    static Thread current() {
        return KNOWN ? JavaThread.currentCarrierThread() : Thread.currentThread();
    }

    private static boolean isKnown() {
        try {
            return JavaThread.currentCarrierThread() != null;
        } catch (LinkageError error) {
            return false;
        }
    }
}
