package loadhook;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Limits the number of nodes, and the heap that the tracker takes from the program.
 *
 * The tracker asks for room before it allocates. Catching the OutOfMemoryError would not do: with {@code
 * -XX:+ExitOnOutOfMemoryError} the JVM ends nevertheless.
 */
final class Budget {
    private static final Runtime RUNTIME = Runtime.getRuntime();
    private static final AtomicInteger LEFT = new AtomicInteger(1000000);
    /** The number of bytes that the paths of virtual threads hold. */
    private static final AtomicLong VIRTUAL = new AtomicLong();
    /** The number of bytes that all {@link Latencies} hold. */
    private static final AtomicLong LATENCIES = new AtomicLong();
    /** The free heap that makes a question about it needless for a while, see {@link #hasRoomForCall}. */
    private static final long PLENTY = 8 << 20;
    /** The number of recorded calls, and the nanoseconds, for which no question about the heap is asked. */
    private static final long TRUSTED_CALLS = 16;
    private static final long TRUSTED_NANOS = 1000000;
    /** The number of calls of all threads that still need no question. May fall a little below 0. */
    private static final AtomicLong TRUSTED = new AtomicLong();
    /** The time of the last question whose answer was that much is free, by {@link System#nanoTime}. */
    private static long asked;
    /** The memory that {@link #keep} reserves; nothing else refers to it. */
    private static byte[] kept;

    private Budget() {
    }

    static void limit(int nodes) {
        LEFT.set(nodes);
    }

    /**
     * Takes one node from the limit that all trees share, the trees of live threads and the merged trees. This code
     * uses no monitor, because a virtual thread may be unmounted at one.
     */
    static boolean takeNode() {
        if (LEFT.getAndDecrement() > 0) {
            return true;
        }
        LEFT.getAndIncrement();
        return false;
    }

    static void giveBack(int nodes) {
        LEFT.getAndAdd(nodes);
    }

    /**
     * Returns whether an array of this many bytes leaves the program enough
     * heap. Garbage counts as used, so the answer may be false too often. Four
     * times the size and some megabytes must be free, because a heap of regions
     * may have no free piece of that size.
     */
    static boolean hasRoom(long bytes) {
        long reserve = RUNTIME.maxMemory() >> 5;
        if (reserve > 32 << 20) {
            reserve = 32 << 20;
        }
        return free() > 4 * bytes + (4 << 20) + reserve;
    }

    /**
     * Returns whether there are a few kilobytes for a thread's path or a
     * group's name. A thread without a path loses its calls.
     */
    static boolean hasRoomForPath() {
        return free() > 1 << 20;
    }

    /**
     * Returns whether there are a few kilobytes for the record of a traced call that ends now. Asking the JVM for
     * its free heap takes a tenth of the time of a record, so if much is free, the next calls are not asked for:
     * so many of all threads together, and only for a while.
     */
    static boolean hasRoomForCall(long now) {
        long left = TRUSTED.get();
        long since = now - asked;
        if (left > 0 && since >= 0 && since < TRUSTED_NANOS && TRUSTED.getAndAdd(-1) > 0) {
            return true;
        }
        long free = free();
        // If another thread has changed the number meanwhile, the next call asks again.
        if (free > PLENTY && TRUSTED.compareAndSet(left, TRUSTED_CALLS)) {
            asked = now;
        }
        return free > 1 << 20;
    }

    /**
     * Returns whether the paths of virtual threads may take this many more bytes. Together they may hold an
     * eighth of the heap. A limit on free heap would not be enough: a program may have as many virtual threads as
     * fit into its heap, and the later ones would get no path.
     */
    static boolean hasRoomForVirtual(long bytes) {
        return VIRTUAL.get() + bytes < RUNTIME.maxMemory() >> 3;
    }

    static void holdVirtual(long bytes) {
        VIRTUAL.getAndAdd(bytes);
    }

    /**
     * Adds the bytes of {@link Latencies} to their sum; a negative number gives bytes back. Returns false and
     * adds nothing if the {@link Latencies} of all threads together would hold more than a sixteenth of the heap.
     */
    static boolean holdLatencies(long bytes) {
        if (LATENCIES.getAndAdd(bytes) + bytes <= RUNTIME.maxMemory() >> 4 || bytes <= 0) {
            return true;
        }
        LATENCIES.getAndAdd(-bytes);
        return false;
    }

    /**
     * Reserves heap for the end of a program. Even the thread that ends the JVM needs some heap, and by then the heap
     * may be full. The reserve has the size of a G1 region, at least {@code least} bytes and at most 32 MB. Nothing
     * is reserved if the reserve would take more than a fiftieth of the heap. If little heap is free, nothing is
     * reserved yet, because the program may need it, and the result is false: a later attempt may find more free heap.
     *
     * @param beside bytes of an array's header, if the array and its header together must fit into the size of
     * the reserve
     */
    static boolean keep(int least, int beside) {
        long most = RUNTIME.maxMemory();
        int bytes = least;
        while (bytes < 32 << 20 && bytes < most >> 11) {
            bytes <<= 1;
        }
        if (bytes > most / 50) {
            return true;
        }
        if (!hasRoom(bytes)) {
            return false;
        }
        kept = new byte[bytes - beside];
        return true;
    }

    /**
     * Returns whether at least three quarters of the heap are free. G1 starts a collection for a large array when
     * 45 percent of the heap are used.
     */
    static boolean isMostlyFree() {
        return free() > RUNTIME.maxMemory() / 4 * 3;
    }

    /**
     * Returns whether at least half of the heap is free. A region of the heap that holds one large
     * array may be almost half empty.
     */
    static boolean isHalfFree() {
        return free() > RUNTIME.maxMemory() >> 1;
    }

    /** Sets the sums of bytes to 0, when the agent has left. */
    static void forget() {
        VIRTUAL.getAndAdd(-VIRTUAL.get());
        LATENCIES.getAndAdd(-LATENCIES.get());
        release();
    }

    /** Drops the reserve, so that the next collection frees it. */
    static void release() {
        kept = null;
    }

    /** Returns the number of free bytes of the heap. Garbage counts as used. */
    static long free() {
        return RUNTIME.maxMemory() - RUNTIME.totalMemory() + RUNTIME.freeMemory();
    }
}
