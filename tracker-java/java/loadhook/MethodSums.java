package loadhook;

/**
 * Calls and times by method, summed over the trees of all threads, and the calls that are only counted.
 *
 * The agent uses these sums to choose the methods that lose probes. The sums are in no profile. The threads keep running while the sums are made, and calls that have not ended have no time yet.
 * Trees without times, such as those of virtual threads under the CPU clock, are left out: their calls would make
 * the mean time of a call too short.
 */
final class MethodSums {
    /** Number of words of the rows that are read between two places where the JVM can stop the thread. */
    private static final int PIECE = 4096 * Tree.STRIDE;
    private static final int WORDS = 4;

    /** Timed calls by method. */
    private long[] calls = new long[1024];
    /** Nanoseconds of these calls, including the calls that they make. Each recursive call adds its own time. */
    private long[] nanos = new long[1024];
    /** The calls that are only counted. */
    private final MethodCalls counted;
    /** The next method that {@link #fill} writes. */
    private int method;

    private MethodSums(MethodCalls counted) {
        this.counted = counted;
    }

    /** Sums up calls and times. Returns null if the heap has no room or the lock is not available. */
    static MethodSums make() {
        if (!Budget.hasRoom(1 << 20)) {
            return null;
        }
        try {
            Path[] paths = Threads.beginSnapshot();
            MethodCalls counted = paths == null ? null : Counters.all(false);
            return counted == null ? null : of(paths, counted);
        } catch (OutOfMemoryError error) {
            return null;
        } finally {
            Threads.endSnapshot();
        }
    }

    static MethodSums of(Path[] paths, MethodCalls counted) {
        MethodSums sums = new MethodSums(counted);
        boolean hasRoom = true;
        for (int at = 0; at < paths.length && hasRoom; at++) {
            hasRoom = paths[at].mode == Timing.COUNT || sums.add(paths[at]);
        }
        for (int at = 0; at < EndedThreads.count && hasRoom; at++) {
            hasRoom = EndedThreads.TREES[at].isUntimed || sums.add(EndedThreads.TREES[at]);
        }
        return hasRoom ? sums : null;
    }

    /** Adds a tree. Returns whether there was room. */
    private boolean add(TimedTree tree) {
        TreeReader reader = new TreeReader(tree);
        boolean hasRoom = true;
        for (int node = Tree.STRIDE; node < reader.end && hasRoom; node += PIECE) {
            hasRoom = add(reader, node, Math.min(node + PIECE, reader.end));
        }
        return hasRoom;
    }

    /**
     * Adds some nodes. The code is in a separate method, because the JVM can stop a thread at the end of a method,
     * but not inside the loop.
     */
    @OutOfLine
    private boolean add(TreeReader reader, int from, int end) {
        for (int node = from; node < end; node += Tree.STRIDE) {
            int method = reader.method(node);
            if (method >= 0 && !reader.isLeaf(node)) {
                if (method >= calls.length && !lengthen(method)) {
                    return false;
                }
                calls[method] += reader.calls(node);
                nanos[method] += reader.value(node, Tree.ALL);
            }
        }
        return true;
    }

    private boolean lengthen(int method) {
        int length = calls.length;
        while (length <= method) {
            length <<= 1;
        }
        if (length < 0 || !Budget.hasRoom(16L * length)) {
            return false;
        }
        calls = Arrays.copy(calls, length);
        nanos = Arrays.copy(nanos, length);
        return true;
    }

    /**
     * Fills a buffer with four words for each method with calls: id, timed calls, their nanoseconds, and calls that
     * are only counted. Returns the number of words, 0 at the end.
     */
    int fill(long[] buffer) {
        int at = 0;
        int end = Math.max(calls.length, counted.ids());
        for (; method < end && at + WORDS <= buffer.length; method++) {
            long timed = method < calls.length ? calls[method] : 0;
            long only = counted.of(method);
            if (timed > 0 || only > 0) {
                buffer[at] = method;
                buffer[at + 1] = timed;
                buffer[at + 2] = timed == 0 ? 0 : nanos[method];
                buffer[at + 3] = only;
                at += WORDS;
            }
        }
        return at;
    }
}
