package loadhook;

/** The platform thread under the current thread: a virtual thread's carrier, or the thread itself. */
final class Carrier {
    /**
     * True if the JDK can tell a virtual thread's carrier. From JDK 19 on it
     * can, but only classes of {@code java.lang} may ask. Without an agent the
     * tracker is not such a class.
     */
    private static final boolean KNOWN = isKnown();

    private Carrier() {
    }

    /**
     * The carrier of the current thread; the current thread itself, even a
     * virtual one, if the carrier is unknown.
     */
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
