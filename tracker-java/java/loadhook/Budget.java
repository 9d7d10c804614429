package loadhook;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What the trees may take: so many nodes, and no heap that the program needs.
 *
 * Asking comes before allocating: with {@code -XX:+ExitOnOutOfMemoryError} an OutOfMemoryError ends the JVM even if it
 * is caught.
 */
final class Budget {
    private static final Runtime RUNTIME = Runtime.getRuntime();
    private static final AtomicInteger LEFT = new AtomicInteger(1000000);
    /** The bytes that the paths of virtual threads hold. */
    private static final AtomicLong VIRTUAL = new AtomicLong();
    /** Nothing else refers to it. */
    private static byte[] kept;

    private Budget() {
    }

    static void limit(int nodes) {
        LEFT.set(nodes);
    }

    /** Takes one node of the limit over all trees, live and merged. No monitor: a virtual thread may be unmounted there. */
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
     * Whether an array of so many bytes leaves the program enough. Garbage counts as used, which errs on the safe side;
     * four times the size and some megabytes, since a heap in regions may not have it in one.
     */
    static boolean hasRoom(long bytes) {
        long reserve = RUNTIME.maxMemory() >> 5;
        if (reserve > 32 << 20) {
            reserve = 32 << 20;
        }
        return free() > 4 * bytes + (4 << 20) + reserve;
    }

    /** Whether a thread can have a path, without which its calls are not seen, or one that has ended a name: a few kilobytes. */
    static boolean hasRoomForPath() {
        return free() > 1 << 20;
    }

    /**
     * Whether the paths of virtual threads may hold so many bytes more: together an eighth of the heap. There are as many
     * of these threads as the heap holds, so that asking what is free now leaves nothing to those which come later.
     */
    static boolean hasRoomForVirtual(long bytes) {
        return VIRTUAL.get() + bytes < RUNTIME.maxMemory() >> 3;
    }

    static void holdVirtual(long bytes) {
        VIRTUAL.getAndAdd(bytes);
    }

    /**
     * Keeps room for a program that ends with its heap full, when even the thread that ends the JVM needs some: as much as
     * one of G1's regions has, so many bytes at the least and 32 MB at most. Of a heap of which that is more than a fiftieth,
     * or that has little free, none: the program may need it.
     *
     * @param beside what an array has beside its elements, if the array is to fit into so many bytes with it
     */
    static void keep(int least, int beside) {
        long most = RUNTIME.maxMemory();
        int bytes = least;
        while (bytes < 32 << 20 && bytes < most >> 11) {
            bytes <<= 1;
        }
        if (bytes <= most / 50 && hasRoom(bytes)) {
            kept = new byte[bytes - beside];
        }
    }

    /** Whether half the heap is free, whatever its regions hold: a heap of arrays fills them by no more than that. */
    static boolean isHalfFree() {
        return free() > RUNTIME.maxMemory() >> 1;
    }

    /** Gives back what is kept; the next collection finds it. */
    static void release() {
        kept = null;
    }

    /** Garbage counts as used. */
    static long free() {
        return RUNTIME.maxMemory() - RUNTIME.totalMemory() + RUNTIME.freeMemory();
    }
}
