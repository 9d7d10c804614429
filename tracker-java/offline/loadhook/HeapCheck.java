package loadhook;

/** Heap for the writer. Asked, not tried: {@code -XX:+ExitOnOutOfMemoryError} ends the JVM though the error be caught. */
final class HeapCheck {
    private static final long RESERVE = 1 << 20;

    private HeapCheck() {
    }

    /** At the program's end its garbage may be most of the heap. */
    static void require(long bytes) {
        if (Budget.free() < bytes + RESERVE) {
            System.gc();
            if (Budget.free() < bytes + RESERVE) {
                // One that the JVM does not see.
                throw new OutOfMemoryError();
            }
        }
    }
}
