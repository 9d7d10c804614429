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
        if (path.held != Thread.currentThread() || path.owner == Path.NOBODY) {
            meet();
            Tracker.enter(method);
            return;
        }
        long[] back = path.back;
        int[] rows = path.rows;
        int frame = path.depth + 1;
        int from = (int) (back[frame - 1] >> 32);
        int node = rows[from + Tree.LAST];
        // A row's first word is its method, which javac would add to the node as 0.
        if (rows[node] != method) {
            node = rows[node + Tree.NEXT];
            if (rows[node] != method) {
                path.enter(method);
                return;
            }
            rows[from + Tree.LAST] = node;
        }
        int stamp = path.stamped << 1;
        if (frame + 1 >= back.length || path.mode != Timing.EXACT || stamp == path.stamps.length) {
            enter(path, method, node);
            return;
        }
        long[] times = path.times;
        long[] stamps = path.stamps;
        int at = node << 1;
        int work = rows[node + Tree.WORK];
        int low = work + Tree.GRANT & Tree.GRANTS;
        long now = System.nanoTime();
        // No call from here on. The same as Tree.grant with no calls left, and as Path.enterExactly.
        times[at] = (times[at] & -Tree.CALL) + (Tree.CALL | low);
        rows[node + Tree.WORK] = (work & -Tree.CALL) + (Tree.CALL | low);
        stamps[stamp++] = now;
        stamps[stamp] = work < Tree.CALL ? 1 : -1;
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
        // No call from here on.
        path.rows[node + Tree.WORK] = work + Tree.CALL - 1;
        back[frame] = (long) node << 32;
        path.depth = frame;
    }

    /** Does what {@link Tracker#exit} does. */
    public static void exit(int method) {
        Path path = recent;
        if (path.held != Thread.currentThread() || path.owner == Path.NOBODY) {
            meet();
            Tracker.exit(method);
            return;
        }
        long[] back = path.back;
        int[] rows = path.rows;
        int caller = path.depth - 1;
        long frame = back[caller + 1];
        int node = (int) (frame >> 32);
        if (rows[node] != method || path.marked != 0) {
            path.exit(method);
            return;
        }
        if (path.mode != Timing.EXACT || (frame & 1) == 0) {
            if (path.mode == Timing.COUNT && (frame & 1) == 0) {
                rows[node + Tree.WORK] -= Tree.CALL;
                path.depth = caller;
            } else {
                path.exit(method);
            }
            return;
        }
        long[] times = path.times;
        long[] stamps = path.stamps;
        int stamp = path.stamped - 1 << 1;
        int at = node << 1;
        int to = (int) (back[caller] >> 32) << 1;
        long before = times[at + Tree.RECENT];
        long nanos = System.nanoTime() - stamps[stamp];
        // No call from here on. The same as TimedTree.book and UnwindingPath.end.
        times[at + Tree.ALL] += nanos;
        if (stamps[stamp + 1] > 0) {
            times[at + Tree.OUTERMOST] += nanos;
        }
        times[to + Tree.CHILD] += nanos;
        times[at + Tree.RECENT] = times[at + Tree.TIMED]++ == 0 ? nanos : before + (nanos - before >> 4);
        rows[node + Tree.WORK] -= Tree.CALL;
        path.stamped--;
        path.depth = caller;
    }

    /** Does what {@link Tracker#ended} does. */
    public static void ended(int method, int key) {
        Path path = recent;
        if (key != 0 || path.marked != 0 || path.held != Thread.currentThread()) {
            Tracker.ended(method, key);
        } else {
            exit(method);
        }
    }

    /** Returns whether the agent uses these probes. With the CPU clock it does not: that clock costs more than they save. */
    static boolean isUsed() {
        return Timing.interpreted && Timing.isAgents && Clock.kind == Clock.WALL;
    }

    /** Sets the path that the next probe finds; for {@link Calibration}. */
    static void meet(Path path) {
        recent = path;
    }

    /** Remembers the current thread's path. Not at every probe, in case two threads run in turn. */
    private static void meet() {
        Path path = path();
        if (path != null && path.held != null && (path.misses++ & 15) == 0) {
            recent = path;
        }
    }
}
