package loadhook;

import java.lang.ref.WeakReference;

/**
 * Numbers of calls by the methods' ids: those of one platform thread, or a sum over threads.
 *
 * Most ids have a place in one array, so that a probe needs only an index. Ids for which the array would become
 * too large are counted in pages, which are made as needed. An id can have calls in a page and in the array,
 * because the array grows.
 */
final class MethodCalls {
    /** Value of an array's first element if no thread counts in that array. */
    static final long NOBODY = -1;

    /** Number of elements before the calls of the method with the id 0. */
    static final int FIRST = 1;

    private static final int PAGE_BITS = 9;
    private static final int PAGE = 1 << PAGE_BITS;

    /**
     * The first element is the {@link Ids#owner} of the thread that counts
     * here, or {@link #NOBODY}. The calls by id follow.
     */
    long[] calls;
    /** The calls of ids that have no place in the array, 512 to a page; null if there are none. */
    private long[][] pages;
    /** The durations of timed calls, for paths; null if there are none. The trees count these calls, too. */
    Latencies latencies;

    /**
     * The thread that counts here. The reference is weak, because the end of a
     * thread may not be reported.
     */
    WeakReference<Thread> thread;
    /** The thread itself if threads can share an id, otherwise null. */
    Thread held;
    long id;
    /** The next element of the registry's chain, or of the pool. */
    MethodCalls next;
    /** The thread's stripe in {@link Stripes}, or -1. */
    int stripe = -1;
    /** The number of times that these calls were not found in the cache of {@link Counters}. */
    int misses;

    /** Drops all calls. No thread counts here from now on. */
    void clear() {
        calls[0] = NOBODY;
        pages = null;
        latencies = null;
        for (int at = FIRST; at < calls.length; at++) {
            calls[at] = 0;
        }
    }

    /** Makes an object with room for the ids below {@code ids}. */
    MethodCalls(int ids) {
        calls = new long[FIRST + ids];
        calls[0] = NOBODY;
    }

    /** Returns the number of ids with a place in the array. */
    int ids() {
        return calls.length - FIRST;
    }

    /** Returns an id that is greater than every id with calls. Without pages it is the smallest such id. */
    int end() {
        long[] calls = this.calls;
        int ids = calls.length - FIRST;
        while (ids > 0 && calls[ids - 1 + FIRST] == 0) {
            ids--;
        }
        if (stripe >= 0) {
            ids = Stripes.end(stripe, ids);
        }
        return pages == null ? ids : Math.max(ids, pages.length << PAGE_BITS);
    }

    /** Counts a call if its method has a place. Returns whether the method has one. */
    boolean count(int method) {
        long[] in = calls;
        int at = FIRST + method;
        if (method >= in.length - FIRST) {
            in = page(method);
            at = method & PAGE - 1;
            if (in == null) {
                return false;
            }
        }
        // No method may be called below: a StackOverflowError would leave the update half done.
        in[at]++;
        return true;
    }

    /** Returns the durations of timed calls, and makes the object for them if necessary; null if there is no room. */
    Latencies latencies() {
        if (latencies == null) {
            if (!Budget.hasRoomForPath()) {
                return null;
            }
            try {
                latencies = new Latencies(true);
            } catch (OutOfMemoryError error) {
                return null;
            }
        }
        return latencies;
    }

    /** Returns the number of calls of a method. */
    long of(int method) {
        long[] calls = this.calls;
        long[] page = page(method);
        long sum = page == null ? 0 : page[method & PAGE - 1];
        if (stripe >= 0) {
            sum += Stripes.of(stripe, method);
        }
        return method < calls.length - FIRST ? sum + calls[FIRST + method] : sum;
    }

    private long[] page(int method) {
        long[][] pages = this.pages;
        int page = method >> PAGE_BITS;
        return pages == null || page >= pages.length ? null : pages[page];
    }

    /** Makes a method's place in a page. Returns whether there was room. */
    boolean makePage(int method) {
        int page = method >> PAGE_BITS;
        long[][] pages = this.pages;
        try {
            if (pages == null || page >= pages.length) {
                int length = 8;
                while (length <= page) {
                    length <<= 1;
                }
                if (!Budget.hasRoom(8L * length)) {
                    return false;
                }
                long[][] longer = new long[length][];
                if (pages != null) {
                    System.arraycopy(pages, 0, longer, 0, pages.length);
                }
                pages = longer;
                this.pages = longer;
            }
            if (!Budget.hasRoom(8L * PAGE)) {
                return false;
            }
            pages[page] = new long[PAGE];
            return true;
        } catch (OutOfMemoryError error) {
            return false;
        }
    }

    /** Makes the array long enough for the ids below {@code ids}. Returns whether there was room. */
    boolean lengthen(int ids) {
        if (!Budget.hasRoom(8L * ids)) {
            return false;
        }
        try {
            long[] longer = new long[FIRST + ids];
            System.arraycopy(calls, 0, longer, 0, calls.length);
            calls = longer;
            return true;
        } catch (OutOfMemoryError error) {
            return false;
        }
    }

    /**
     * Moves all calls of another object into this one, and leaves the other without calls and without a stripe.
     * This object has places for the methods of a stripe. Nothing is allocated: this object gets the longer of
     * the two arrays. If an exception interrupts this method, it can be called again.
     */
    void take(MethodCalls other) {
        other.calls[0] = NOBODY;
        long[] mine = calls;
        long[] theirs = other.calls;
        if (theirs.length > mine.length) {
            // No call and no jump may stand here until both arrays are exchanged: an exception between would lose one.
            calls = theirs;
            other.calls = mine;
        }
        move(other.calls, calls, FIRST);
        takeLatencies(other);
        if (other.stripe >= 0) {
            int stripe = other.stripe;
            Stripes.move(stripe, calls);
            other.stripe = -1;
            Stripes.release(stripe);
        }
        if (other.pages == null) {
            return;
        }
        if (pages == null || pages.length < other.pages.length) {
            long[][] few = pages;
            pages = other.pages;
            other.pages = few;
        }
        takePages(other);
    }

    private void takeLatencies(MethodCalls other) {
        Latencies theirs = other.latencies;
        if (theirs != null && latencies == null) {
            // No call and no jump may stand here: an exception between these two lines would lose the latencies or
            // add them twice.
            latencies = theirs;
            other.latencies = null;
        } else if (theirs != null) {
            theirs.giveBack();
            latencies.take(theirs);
            other.latencies = null;
        }
    }

    private void takePages(MethodCalls other) {
        long[][] from = other.pages;
        if (from == null) {
            return;
        }
        for (int page = 0; page < from.length; page++) {
            if (pages[page] == null) {
                pages[page] = from[page];
            } else if (from[page] != null) {
                move(from[page], pages[page], 0);
            }
            from[page] = null;
        }
        other.pages = null;
    }

    /** Moves calls to an array that is at least as long. */
    private static void move(long[] from, long[] to, int first) {
        for (int at = first; at < from.length; at++) {
            to[at] += from[at];
            from[at] = 0;
        }
    }

    /**
     * Adds the calls of another object, as far as their ids are below {@link #end}, and the durations of its timed
     * calls, if they are wanted. The other object keeps its calls, and its thread may be counting.
     */
    void add(MethodCalls other, boolean withLatencies) {
        int end = Math.min(ids(), other.end());
        for (int method = 0; method < end; method++) {
            calls[FIRST + method] += other.of(method);
        }
        if (withLatencies && other.latencies != null) {
            if (latencies == null) {
                latencies = new Latencies(false);
            }
            latencies.add(other.latencies);
        }
    }

    /** Returns the platform thread that counts here, or null if it has ended and was collected. */
    Thread thread() {
        WeakReference<Thread> thread = this.thread;
        return thread == null ? null : thread.get();
    }

    long bytes() {
        long bytes = 88 + 8L * calls.length + (latencies == null ? 0 : latencies.bytes());
        long[][] pages = this.pages;
        if (pages != null) {
            bytes += 8L * pages.length;
            for (int page = 0; page < pages.length; page++) {
                bytes += pages[page] == null ? 0 : 16 + 8 * PAGE;
            }
        }
        return bytes;
    }
}
