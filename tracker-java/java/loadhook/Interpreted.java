package loadhook;

/**
 * The probes for a JVM without a compiler ({@code -Xint}) that time every call by the wall clock. The agent lets
 * injected code call this class instead of {@link Tracker}, from which it inherits the probes that it does not define.
 * Where calls are only counted, injected code calls {@link InterpretedCount} instead.
 *
 * An interpreted call costs 10 to 100 ns, and a bytecode about 1 ns. So the frequent cases are written out here, with
 * calls for the thread and the clock only, and with few bytecodes: a value that is used once is in no variable.
 * All other cases go to {@link Path}, which does the same in methods that a compiler inlines. A thread's path is
 * found by comparing threads, because reading a thread's id would take a call.
 *
 * On a path that times every call, a frame is the node and nothing else.
 */
public class Interpreted extends Tracker {
    /** The path of the thread that ran a probe last. At first it is a path of no thread. */
    static Path recent = Threads.NOBODYS;

    Interpreted() {
    }

    /** Does what {@link Tracker#enter} does. */
    public static void enter(int method) {
        Path path = recent;
        if (path.held != Thread.currentThread()) {
            meet();
            Tracker.enter(method);
            return;
        }
        int depth = path.depth;
        if (depth >= path.exactly) {
            path.enter(method);
            return;
        }
        long[] back = path.back;
        int[] rows = path.rows;
        int node = rows[(int) back[depth] + Tree.LAST];
        // The method is the first word of a row. In rows[node + METHOD], the interpreter would add 0 at each call.
        if (rows[node] != method) {
            node = rows[node + Tree.NEXT];
            if (rows[node] == method) {
                rows[(int) back[depth] + Tree.LAST] = node;
            } else {
                node = unforeseen(path, method);
                if (node == Tree.ROOT) {
                    path.enterSlowly(method);
                    return;
                }
                rows = path.rows;
            }
        }
        path.stamps[++depth] = System.nanoTime();
        // No call and no jump may stand below: an exception there would leave the update half done. This is
        // Path.enterExactly, except for one thing: the bits of GRANTS stay. They tell a reader that a grant changed
        // LEFT, but LEFT is always 0 on a path that times every call.
        path.times[node << 1] += Tree.CALL;
        rows[node + Tree.WORK] += Tree.CALL;
        back[depth] = node;
        path.depth = depth;
    }

    /**
     * Finds or makes the node of a call if both foreseen callees are wrong, on a path that times every call.
     * Returns the root if there is no room for the node.
     */
    private static int unforeseen(Path path, int method) {
        int[] rows = path.rows;
        int from = (int) path.back[path.depth];
        if (rows[from] == method) {
            return from;
        }
        int last = rows[from + Tree.LAST];
        int node = last;
        for (int step = 0; step < Path.FAR && node != Tree.ROOT; step++) {
            node = rows[node + Tree.NEXT];
            if (rows[node] == method) {
                rows[from + Tree.LAST] = node;
                return node;
            }
        }
        node = path.known(from, method);
        if (node == Tree.ROOT) {
            node = path.unknown(from, method);
            if (node == path.overflow) {
                return Tree.ROOT;
            }
            rows = path.rows;
        }
        // The same code as in Tree.foresee.
        if ((int) (path.times[(node << 1) + Tree.LINK] >> 32) == from) {
            if (last != Tree.ROOT) {
                rows[last + Tree.NEXT] = node;
            }
            rows[from + Tree.LAST] = node;
        }
        return node;
    }

    /**
     * Does what {@link Tracker#exit} does. Unusual cases go to the probe for constructors, which does the same as
     * {@code exit} for other methods.
     */
    public static void exit(int method) {
        Path path = recent;
        if (path.held != Thread.currentThread()) {
            meet();
            Tracker.ended(method, 0);
            return;
        }
        int depth = path.depth;
        long[] back = path.back;
        int[] rows = path.rows;
        int node = (int) back[depth];
        if (rows[node] != method || path.marked != 0 && path.marks[3 * path.marked - 3] == depth) {
            path.ended(method, 0);
            return;
        }
        int work = rows[node + Tree.WORK] - Tree.CALL;
        long nanos = System.nanoTime() - path.stamps[depth--];
        // No method may be called below: a StackOverflowError would leave the update half done. No jump stands
        // after a write. This is TimedTree.book and UnwindingPath.end, but without the number of timed calls and their
        // moving mean.
        if (work >= Tree.CALL) {
            path.times[(node << 1) + Tree.NESTED] += nanos;
        }
        path.times[(node << 1) + Tree.ALL] += nanos;
        path.times[((int) back[depth] << 1) + Tree.CHILD] += nanos;
        rows[node + Tree.WORK] = work;
        path.depth = depth;
    }

    /** Does what {@link Tracker#construct} does. */
    public static void construct(int method, int key, int other) {
        Path path = recent;
        int[] marks = path.marks;
        int at = 3 * path.marked;
        if (marks == null || path.held != Thread.currentThread() || path.rows[(int) path.back[path.depth] & ~1] != method
                || at == marks.length || at != 0 && marks[at - 3] == path.depth) {
            Tracker.construct(method, key, other);
            return;
        }
        // No call and no jump may stand below: an exception there would leave the update half done.
        marks[at] = path.depth;
        marks[at + 1] = key;
        marks[at + 2] = other;
        path.marked++;
    }

    /** Does what {@link Tracker#constructed} does. */
    public static void constructed(int method) {
        Path path = recent;
        if (path.held == Thread.currentThread() && path.marked != 0 && path.marks[3 * path.marked - 3] == path.depth
                && path.rows[(int) path.back[path.depth] & ~1] == method) {
            path.marked--;
        } else {
            Tracker.constructed(method);
        }
    }

    /** Does what {@link Tracker#ended} does. */
    public static void ended(int method, int key) {
        if (key != 0) {
            Tracker.ended(method, key);
        } else {
            exit(method);
        }
    }

    /** Forgets the path of the thread that ran a probe last, when the agent has left. */
    static void forget() {
        recent = Threads.NOBODYS;
    }

    /**
     * Returns whether the agent uses these probes. With the CPU clock it does not, because reading that clock
     * costs more than these probes save.
     */
    static boolean isUsed() {
        return Timing.interpreted && Timing.isAgents && Clock.kind == Clock.WALL && !Latencies.areCounted;
    }

    /** Sets the path that the next probe finds; for {@link Calibration}. */
    static void meet(Path path) {
        recent = path;
    }

    /**
     * Removes the path from {@link #recent}, so that its thread no longer finds it there. Called before the path
     * loses its owner, by the owner or after the owner has ended.
     */
    static void leave(PathState path) {
        if (recent == path) {
            recent = Threads.NOBODYS;
        }
    }

    /**
     * Puts the current thread's path into {@link #recent}, but only at some probes. If two threads run by turns,
     * each would otherwise replace the other's path at every probe.
     */
    static void meet() {
        Path path = path();
        if (path != null && path.held != null && (path.misses++ & 15) == 0) {
            recent = path;
        }
    }
}
