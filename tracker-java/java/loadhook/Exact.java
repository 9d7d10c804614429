package loadhook;

/**
 * The probes that time every call by the wall clock, for a JVM with a compiler. The agent lets injected code call
 * this class instead of {@link Tracker}, from which it inherits the probes that it does not define.
 *
 * A clock reading waits for all loads before it, and the instructions after it wait for the reading. So {@link
 * #enter} reads the clock before it searches for the node: the search then runs beside the method's first
 * instructions. {@link Calibration} measures what this adds to a call's time. {@link #exit} reads the clock after
 * the search, because the node shows whether the clock is needed.
 *
 * In both probes the frequent case is written out, and stores fewer words than {@link Path} does. All other cases
 * go to the {@link Path}. On a path that times every call, the frame of a timed call is just the node, which is
 * even. The frame of a call that is only counted is odd.
 */
public final class Exact extends Tracker {
    private Exact() {
    }

    /** Does what {@link Tracker#enter} does. */
    public static void enter(int method) {
        Path path = path();
        if (path != null) {
            enter(path, method);
        } else {
            Tracker.enter(method);
        }
    }

    private static void enter(Path path, int method) {
        int depth = path.depth;
        long start = System.nanoTime();
        if (depth >= path.exactly) {
            path.enter(method);
            return;
        }
        long[] back = path.back;
        int[] rows = path.rows;
        int from = (int) back[depth];
        int node = rows[from + Tree.LAST];
        if (rows[node + Tree.METHOD] != method) {
            node = rows[node + Tree.NEXT];
            if (rows[node + Tree.METHOD] == method) {
                rows[from + Tree.LAST] = node;
            } else if (rows[from + Tree.METHOD] == method) {
                node = from;
            } else {
                path.enterSlowly(method);
                return;
            }
        }
        depth++;
        // No method may be called below: a StackOverflowError would leave the update half done. This is
        // Path.enterExactly, except for one thing: the bits of GRANTS stay. They tell a reader that a grant changed
        // LEFT, but LEFT is always 0 on a path that times every call.
        path.times[2 * node + Tree.GRANTED] += Tree.CALL;
        rows[node + Tree.WORK] += Tree.CALL;
        path.stamps[depth] = start;
        back[depth] = node;
        path.depth = depth;
    }

    /** Does what {@link Tracker#exit} does. */
    @OutOfLine
    public static void exit(int method) {
        Path path = path();
        if (path != null) {
            exit(path, method);
        }
    }

    private static void exit(Path path, int method) {
        int depth = path.depth;
        long[] back = path.back;
        int[] rows = path.rows;
        int node = (int) back[depth];
        // Only a path that times every call has an even frame of a method: an agent that uses these probes makes no
        // other paths.
        if ((node & 1) != 0 || rows[node + Tree.METHOD] != method || path.marked != 0) {
            path.exit(method);
            return;
        }
        long now = System.nanoTime();
        // No method may be called below: a StackOverflowError would leave the update half done. This is TimedTree.book
        // and UnwindingPath.end, but without the number of timed calls and their moving mean.
        long[] times = path.times;
        int at = 2 * node;
        int caller = 2 * (int) back[depth - 1];
        int work = rows[node + Tree.WORK] - Tree.CALL;
        long nanos = now - path.stamps[depth];
        times[at + Tree.ALL] += nanos;
        if (work >= Tree.CALL) {
            times[at + Tree.NESTED] += nanos;
        }
        times[caller + Tree.CHILD] += nanos;
        rows[node + Tree.WORK] = work;
        path.depth = depth - 1;
    }

    /** Returns whether the agent uses these probes. */
    static boolean isUsed() {
        return Timing.mode == Timing.EXACT && !Timing.interpreted && Timing.isAgents && Clock.kind == Clock.WALL
                && !Latencies.areCounted;
    }
}
