package loadhook;

/**
 * The probes for a JVM without a compiler ({@code -Xint}). The agent has injected code call this class instead of
 * {@link Tracker}, from which it inherits the probes that it does not define.
 *
 * An interpreted call costs 20 to 70 ns, many times the work of a probe. So the frequent cases are written out here, with
 * calls for the thread and the clock only. All other cases go to the {@link Path}, which does the same in methods that a
 * compiler inlines. A path is found by its thread, because reading a thread's id would take a call.
 */
public final class Interpreted extends Tracker {
    /** The path of the thread that ran a probe last. At first it is a path of no thread. */
    private static Path recent = Threads.NOBODYS;

    private Interpreted() {
    }

    /** Does what {@link Tracker#enter} does. */
    public static void enter(int method) {
        Path path = recent;
        if (path.held != Thread.currentThread()) {
            meet();
            Tracker.enter(method);
            return;
        }
        long[] back = path.back;
        int[] rows = path.rows;
        int frame = path.depth;
        int from = (int) (back[frame++] >> 32);
        int node = rows[from + Tree.LAST];
        // javac would add the METHOD offset, 0, to the node. The method is the
        // first word of the row, so the addition is left out.
        if (rows[node] != method) {
            node = rows[node + Tree.NEXT];
            if (rows[node] != method) {
                path.enterSlowly(method);
                return;
            }
            rows[from + Tree.LAST] = node;
        }
        long[] stamps = path.stamps;
        int stamp = path.stamped << 1;
        if (frame + 1 >= back.length || path.mode != Timing.EXACT || stamp == stamps.length) {
            enter(path, method, node);
            return;
        }
        long[] times = path.times;
        int work = rows[node + Tree.WORK];
        stamps[stamp + 1] = work < Tree.CALL ? 1 : -1;
        stamps[stamp] = System.nanoTime();
        // No call or jump below: an exception there would leave the update half
        // done. This is Path.enterExactly, except for one thing: the bits of
        // GRANTS stay. They tell a reader that a grant changed LEFT, but LEFT
        // is always 0 on a path that times every call.
        times[node << 1] += Tree.CALL;
        rows[node + Tree.WORK] = work + Tree.CALL;
        path.stamped++;
        back[frame] = (long) node << 32 | 1;
        path.depth = frame;
    }

    /**
     * Enters a call that is only counted, if the path is not timed and the node has calls left of
     * its last grant.
     */
    private static void enter(Path path, int method, int node) {
        long[] back = path.back;
        int frame = path.depth + 1;
        int work = path.rows[node + Tree.WORK];
        if (frame + 1 >= back.length || path.mode != Timing.COUNT || (work & Tree.LEFT) == 0) {
            path.enter(method);
            return;
        }
        // No call below: a StackOverflowError would leave the update half done.
        path.rows[node + Tree.WORK] = work + Tree.CALL - 1;
        back[frame] = (long) node << 32;
        path.depth = frame;
    }

    /**
     * Does what {@link Tracker#exit} does. Unusual cases go to the probe for
     * constructors, which does the same for other methods.
     */
    public static void exit(int method) {
        Path path = recent;
        if (path.held != Thread.currentThread()) {
            meet();
            Tracker.ended(method, 0);
            return;
        }
        long[] back = path.back;
        int[] rows = path.rows;
        int depth = path.depth;
        long frame = back[depth];
        int node = (int) (frame >> 32);
        if (rows[node] != method || path.marked != 0 && path.isMarked()) {
            path.ended(method, 0);
            return;
        }
        if (((int) frame & 1) == 0) {
            exit(path, method, node);
            return;
        }
        // An odd frame that has a node is timed. Each timed call has weight 1
        // here.
        long[] times = path.times;
        int stamp = path.stamped - 1;
        int at = node << 1;
        int work = rows[node + Tree.WORK];
        int to = (int) (back[--depth] >> 32) << 1;
        long nanos = System.nanoTime() - path.stamps[stamp << 1];
        // No call below: a StackOverflowError would leave the update half done.
        // This is TimedTree.book and UnwindingPath.end, but without the moving
        // mean by which calls are chosen.
        if (work < 2 * Tree.CALL) {
            times[at + Tree.OUTERMOST] += nanos;
        }
        times[at + Tree.ALL] += nanos;
        times[at + Tree.TIMED]++;
        times[to + Tree.CHILD] += nanos;
        rows[node + Tree.WORK] = work - Tree.CALL;
        path.stamped = stamp;
        path.depth = depth;
    }

    /** Exits a call that is only counted, if the path does not time. */
    private static void exit(Path path, int method, int node) {
        if (path.mode == Timing.COUNT) {
            path.rows[node + Tree.WORK] -= Tree.CALL;
            path.depth--;
        } else {
            path.exit(method);
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

    /**
     * Returns whether the agent uses these probes. It does not with the CPU
     * clock, because reading that clock costs more than these probes save.
     */
    static boolean isUsed() {
        return Timing.interpreted && Timing.isAgents && Clock.kind == Clock.WALL;
    }

    /** Sets the path that the next probe finds; for {@link Calibration}. */
    static void meet(Path path) {
        recent = path;
    }

    /** Keeps the path's thread from finding it here. Called before the path loses its owner, by that thread or after its end. */
    static void leave(PathState path) {
        if (recent == path) {
            recent = Threads.NOBODYS;
        }
    }

    /**
     * Remembers the current thread's path, but only at some probes: two threads
     * that run by turns would replace each other's path at every one.
     */
    private static void meet() {
        Path path = path();
        if (path != null && path.held != null && (path.misses++ & 15) == 0) {
            recent = path;
        }
    }
}
