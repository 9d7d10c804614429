package loadhook;

/** Asks for heap before it is used: with {@code -XX:+ExitOnOutOfMemoryError} even a caught error ends the JVM. */
final class HeapCheck {
    private static final long RESERVE = 1 << 20;

    private HeapCheck() {
    }

    /** Throws if so many bytes are not free, after a collection: at the program's end most of the heap may be garbage. */
    static void require(long bytes) {
        if (Budget.free() < bytes + RESERVE) {
            System.gc();
            if (Budget.free() < bytes + RESERVE) {
                // Thrown here, the error does not end the JVM.
                throw new OutOfMemoryError();
            }
        }
    }
}
