package loadhook;

/**
 * Calls and times by method, summed over the trees of all threads.
 *
 * The agent uses them to choose the methods that are only counted from then on. They are in no profile. The threads
 * keep running meanwhile, and calls that have not ended have no time yet. Trees without times are left out, because
 * their calls would make the mean time of a call too short. Under the CPU clock, the trees of virtual threads have no
 * times.
 */
final class MethodSums {
    /** Nodes that are read between two places where the VM can stop the thread. */
    private static final int PIECE = 4096 * Tree.STRIDE;
    private static final int WORDS = 3;

    /** Calls by method. */
    private long[] calls = new long[1024];
    /** Nanoseconds of these calls, callees included. Each recursive call adds its own time. */
    private long[] nanos = new long[1024];
    /** The next method to write. */
    private int method;

    private MethodSums() {
    }

    /** Sums up; returns null if the heap has no room or the lock is not available. */
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
     * Adds some nodes. This is a separate method: the VM can stop a thread at the end of a method, but not inside such
     * a loop.
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

    /** Fills a buffer with the id, calls and nanoseconds of methods that were called; returns the number of words, 0 at the end. */
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
