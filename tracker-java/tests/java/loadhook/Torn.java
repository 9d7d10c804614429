package loadhook;

/**
 * Reads a tree while its thread is stopped in the middle of a grant, which counts some calls of a node in advance.
 * Whichever words of the grant have been written, the counts must be right.
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
        // This call creates the node.
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
