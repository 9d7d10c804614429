package loadhook;

/**
 * The probes that a JVM without a compiler runs ({@code -Xint}): the agent names this class instead of {@link Tracker},
 * and the probes that are not here are that class's.
 *
 * There each call costs some 20 to 70 ns, many times what a probe does with its numbers. So the frequent cases are written
 * out without a call but for the thread and the clock; all others go to the {@link Path}, which does the same in methods
 * that a compiler inlines. A path is known by its thread, not by an id that takes a call to be read.
 */
public final class Interpreted extends Tracker {
    /** The path of the thread that was met last; of no thread at first. */
    private static Path recent = Threads.NOBODYS;

    private Interpreted() {
    }

    /** As {@link Tracker#enter}. */
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
        // No call from here on. As Tree.grant does, with no calls left, and Path.enterExactly.
        times[at] = (times[at] & -Tree.CALL) + (Tree.CALL | low);
        rows[node + Tree.WORK] = (work & -Tree.CALL) + (Tree.CALL | low);
        stamps[stamp++] = now;
        stamps[stamp] = work < Tree.CALL ? 1 : -1;
        path.stamped++;
        back[frame] = (long) node << 32 | 1;
        path.depth = frame;
    }

    /** A call that is counted only, if its path counts and its node has calls left. */
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

    /** As {@link Tracker#exit}. */
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
        // No call from here on. As TimedTree.book and Path.end do.
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

    /** As {@link Tracker#ended}. */
    public static void ended(int method, int key) {
        Path path = recent;
        if (key != 0 || path.marked != 0 || path.held != Thread.currentThread()) {
            Tracker.ended(method, key);
        } else {
            exit(method);
        }
    }

    /** Whether the agent names these probes; with the other clock it does not, which costs more than they save. */
    static boolean isUsed() {
        return Timing.interpreted && Timing.isAgents && Clock.kind == Clock.WALL;
    }

    /** For {@link Calibration}. */
    static void meet(Path path) {
        recent = path;
    }

    /** Notes the current thread's path. Two threads in turn shall not do so at every probe. */
    private static void meet() {
        Path path = path();
        if (path != null && path.held != null && (path.misses++ & 15) == 0) {
            recent = path;
        }
    }
}
