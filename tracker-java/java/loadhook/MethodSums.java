package loadhook;

/**
 * Calls and times by method, summed over the trees of all threads.
 *
 * The agent uses these sums to choose the methods whose calls are only counted from then on. The sums are in no
 * profile. The threads keep running while the sums are made, and calls that have not ended have no time yet.
 * Trees without times, such as those of virtual threads under the CPU clock, are left out: their calls would make
 * the mean time of a call too short.
 */
final class MethodSums {
    /** Number of words of the rows that are read between two places where the JVM can stop the thread. */
    private static final int PIECE = 4096 * Tree.STRIDE;
    private static final int WORDS = 3;

    /** Calls by method. */
    private long[] calls = new long[1024];
    /** Nanoseconds of these calls, including the calls that they make. Each recursive call adds its own time. */
    private long[] nanos = new long[1024];
    /** The next method that {@link #fill} writes. */
    private int method;

    private MethodSums() {
    }

    /** Sums up calls and times. Returns null if the heap has no room or the lock is not available. */
    static MethodSums make() {
        if (!Budget.hasRoom(1 << 20)) {
            return null;
        }
        try {
            Path[] paths = Threads.beginSnapshot();
            return paths == null ? null : of(paths);
        } catch (OutOfMemoryError error) {
            return null;
        } finally {
            Threads.endSnapshot();
        }
    }

    static MethodSums of(Path[] paths) {
        MethodSums sums = new MethodSums();
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
     * Fills a buffer with three words for each method with calls: id, calls, nanoseconds. Returns the number of
     * words, 0 at the end.
     */
    int fill(long[] buffer) {
        int at = 0;
        for (; method < calls.length && at + WORDS <= buffer.length; method++) {
            if (calls[method] > 0) {
                buffer[at] = method;
                buffer[at + 1] = calls[method];
                buffer[at + 2] = nanos[method];
                at += WORDS;
            }
        }
        return at;
    }
}
