package loadhook;

/**
 * Checks for free heap before the heap is used. Catching an OutOfMemoryError would not do: with {@code
 * -XX:+ExitOnOutOfMemoryError} the JVM ends nevertheless.
 */
final class HeapCheck {
    private static final long RESERVE = 1 << 20;

    private HeapCheck() {
    }

    /**
     * Throws an OutOfMemoryError if less than this number of bytes is free after a collection. The collection is
     * needed because at the program's end most of the heap may be garbage.
     */
    static void require(long bytes) {
        if (Budget.free() < bytes + RESERVE) {
            System.gc();
            if (Budget.free() < bytes + RESERVE) {
                // Unlike a failed allocation, an error that Java code throws does
                // not end the JVM.
                throw new OutOfMemoryError();
            }
        }
    }
}
