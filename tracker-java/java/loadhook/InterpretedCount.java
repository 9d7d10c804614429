package loadhook;

/**
 * The probes that only count calls, for a JVM without a compiler. They find the path as the probes of {@link
 * Interpreted} do, and their frequent cases are written out for the same reason.
 *
 * On a path that only counts, every frame is odd.
 */
public final class InterpretedCount extends Interpreted {
    private InterpretedCount() {
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
        int depth = path.depth;
        int from = (int) back[depth++] & ~1;
        int node = rows[from + Tree.LAST];
        // A row's first word is its method, which javac would add to the node as 0.
        if (rows[node] != method) {
            node = rows[node + Tree.NEXT];
        }
        int work = rows[node + Tree.WORK];
        if (rows[node] != method || depth + 1 >= back.length || (work & Tree.LEFT) == 0) {
            path.enter(method);
            return;
        }
        // No method may be called below: a StackOverflowError would leave the update half done.
        rows[from + Tree.LAST] = node;
        rows[node + Tree.WORK] = work + Tree.CALL - 1;
        back[depth] = node | 1;
        path.depth = depth;
    }

    /** Does what {@link Tracker#exit} does. */
    public static void exit(int method) {
        Path path = recent;
        if (path.held != Thread.currentThread()) {
            meet();
            Tracker.ended(method, 0);
            return;
        }
        int depth = path.depth;
        int[] rows = path.rows;
        int node = (int) path.back[depth] & ~1;
        if (rows[node] != method || path.marked != 0 && path.marks[3 * path.marked - 3] == depth) {
            path.ended(method, 0);
            return;
        }
        // No method may be called below: a StackOverflowError would leave the update half done.
        rows[node + Tree.WORK] -= Tree.CALL;
        path.depth = depth - 1;
    }

    /** Does what {@link Tracker#ended} does. */
    public static void ended(int method, int key) {
        if (key != 0) {
            Tracker.ended(method, key);
        } else {
            exit(method);
        }
    }
}
