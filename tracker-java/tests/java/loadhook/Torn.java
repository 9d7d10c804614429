package loadhook;

/**
 * Reads trees while a thread is stopped in the middle of a grant. The grant's words may have been
 * written in any order.
 */
public final class Torn {
    private static final int CALLS = 100000;

    private Torn() {
    }

    public static void main(String[] args) {
        Tracker.configure(Integer.parseInt(args[0]), 0, 1000);
        Path path = new Path(Timing.mode, 4, 4, 1);
        int node = Tree.STRIDE;
        int granted = 2 * node + Tree.GRANTED;
        int work = node + Tree.WORK;
        int grants = 0;
        // The node exists.
        path.enter(0);
        path.exit(0);
        for (int calls = 1; calls < CALLS; calls++) {
            int workBefore = path.rows[work];
            long grantedBefore = path.times[granted];
            path.enter(0);
            is(calls + 1, new TreeReader(path).calls(node), "whole");
            int workNow = path.rows[work];
            long grantedNow = path.times[granted];
            if (grantedNow != grantedBefore) {
                grants++;
                path.rows[work] = workBefore;
                is(calls, new TreeReader(path).calls(node), "granted ahead");
                path.rows[work] = workNow;
                path.times[granted] = grantedBefore;
                is(calls, new TreeReader(path).calls(node), "work ahead");
                path.times[granted] = grantedNow;
            }
            path.exit(0);
            is(calls + 1, new TreeReader(path).calls(node), "ended");
        }
        System.out.println(grants);
        System.exit(0);
    }

    private static void is(long expected, long found, String what) {
        if (expected != found) {
            throw new AssertionError(what + ": " + expected + " expected, " + found + " found");
        }
    }
}
