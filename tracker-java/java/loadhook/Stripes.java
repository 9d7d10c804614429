package loadhook;

/**
 * Counts calls where counting costs least: in one array, which has a stripe for each of several threads.
 *
 * The JIT takes the arrays for constants. The JIT also knows the id of a method, so the probe needs no comparison
 * with an array's length. A probe loads only the thread's id and the stripe's owner. The owners are in an array of
 * their own, of another type than the counts. So the JIT sees that no increment changes an owner, and loads the owner
 * once for several probes.
 *
 * A stripe has the calls of the first methods, by their ids. A thread without a stripe, and calls of later methods, are
 * counted in the thread's own array.
 */
final class Stripes {
    /** Binary logarithm of the number of stripes. */
    private static final int MANY = 5;
    /**
     * Binary logarithm of the length of a stripe: the greatest, for a large heap, and the smallest. Stripes of the
     * greatest length take 2 MB. To clear them takes milliseconds of the JVM's start, and a collector may copy them
     * several times. So they are smallest if probes in few methods are expected.
     */
    private static final int LONGEST = 13;
    private static final int SHORTEST = 9;
    /** The share of the largest possible heap that the array may take: the heap's size is shifted right by this. */
    private static final int SHARE_OF_HEAP = 8;
    /** The number of elements whose memory the header of an array takes at most. */
    private static final int HEADER = 3;

    /** Binary logarithm of the number of elements from the beginning of a stripe to the beginning of the next one. */
    static final int BITS;
    /**
     * The number of elements of a stripe in use; 0 if there are no stripes. A few are not used, so that the array
     * and its header together have the size of a power of two. Otherwise G1 would take a whole region of its heap
     * for the header.
     */
    static final int LENGTH;
    /**
     * The number of stripes less one. The low bits of a thread's id under this mask are the only stripe that the
     * thread can have.
     */
    static final int MASK;
    static final long[] CALLS;
    /** The thread whose probes count in a stripe; null if no thread counts in it. */
    static final Thread[] OWNERS;
    /** True for each stripe that belongs to a thread, even while the thread's probes do not count. */
    static final boolean[] TAKEN;

    static {
        int bits = Timing.hasFewMethods ? SHORTEST : LONGEST;
        while (8L << bits + MANY > Runtime.getRuntime().maxMemory() >> SHARE_OF_HEAP) {
            bits--;
        }
        // Other timings count with paths, but the methods that lose their probes there are the hottest ones.
        boolean isWanted = Timing.mode == Timing.SAMPLED || Timing.mayLoseProbes;
        long[] calls = isWanted && bits >= SHORTEST ? made((1 << bits + MANY) - HEADER) : null;
        boolean are = calls != null;
        BITS = bits;
        LENGTH = are ? (1 << bits) - HEADER : 0;
        MASK = are ? (1 << MANY) - 1 : 0;
        CALLS = are ? calls : new long[1];
        OWNERS = new Thread[MASK + 1];
        TAKEN = new boolean[MASK + 1];
    }

    /**
     * Makes an array; returns null if there is no memory. If this class failed to initialise, probes would throw
     * into the program.
     */
    private static long[] made(int length) {
        try {
            return Budget.hasRoom(8L * length) ? new long[length] : null;
        } catch (OutOfMemoryError error) {
            return null;
        }
    }

    private Stripes() {
    }

    /** Returns the stripe that a thread can have; -1 if another thread has that stripe, or there are no stripes. */
    static int free(Thread thread) {
        int stripe = (int) Ids.of(thread) & MASK;
        return LENGTH == 0 || TAKEN[stripe] ? -1 : stripe;
    }

    /** Returns the number of calls of a method in a stripe. */
    static long of(int stripe, int method) {
        return method < LENGTH ? CALLS[(stripe << BITS) + method] : 0;
    }

    /** Returns an id that is greater than every id with calls in a stripe, and at least {@code least}. */
    static int end(int stripe, int least) {
        // Local variables, here and below: without them the interpreter takes a millisecond at the end of a short program.
        long[] calls = CALLS;
        int first = stripe << BITS;
        int last = first + least;
        int end = first + LENGTH;
        while (end > last && calls[end - 1] == 0) {
            end--;
        }
        return Math.max(end - first, least);
    }

    /** Moves the calls of an ended thread's stripe to an array that has places for all methods of the stripe. */
    static void move(int stripe, long[] to) {
        OWNERS[stripe] = null;
        long[] calls = CALLS;
        int at = stripe << BITS;
        int end = at + LENGTH;
        int method = MethodCalls.FIRST;
        while (at < end) {
            long count = calls[at];
            if (count != 0) {
                to[method] += count;
                calls[at] = 0;
            }
            at++;
            method++;
        }
    }

    /** Makes a stripe without calls free for another thread. */
    static void release(int stripe) {
        TAKEN[stripe] = false;
    }

    /** Drops all calls, and takes the stripes from their threads. */
    static void clear() {
        for (int stripe = 0; stripe <= MASK; stripe++) {
            OWNERS[stripe] = null;
            TAKEN[stripe] = false;
        }
        for (int at = 0; at < CALLS.length; at++) {
            CALLS[at] = 0;
        }
    }

    /** Returns the number of bytes that all stripes take. */
    static long bytes() {
        return 16 + 8L * CALLS.length;
    }
}
