package loadhook;

/** Asks for heap before it is used: with {@code -XX:+ExitOnOutOfMemoryError} even a caught error ends the JVM. */
final class HeapCheck {
    private static final long RESERVE = 1 << 20;

    private HeapCheck() {
    }

    /**
     * Throws if less than this number of bytes is free after a collection. At the program's end
     * most of the heap may be garbage.
     */
    static void require(long bytes) {
        if (Budget.free() < bytes + RESERVE) {
            System.gc();
            if (Budget.free() < bytes + RESERVE) {
                // An error that Java code throws does not end the JVM, unlike a failed allocation.
                throw new OutOfMemoryError();
            }
        }
    }
}
