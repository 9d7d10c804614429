package loadhook;

/** The platform thread under the current thread: a virtual thread's carrier, or the thread itself. */
final class Carrier {
    /**
     * True if the JDK provides a virtual thread's carrier. JDK 19 and later do, but only to classes of
     * {@code java.lang}. Without an agent the tracker is not such a class.
     */
    private static final boolean KNOWN = isKnown();

    private Carrier() {
    }

    /**
     * Returns the carrier of the current thread. If the carrier is unknown, returns the current thread itself,
     * even a virtual one.
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
