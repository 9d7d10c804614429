package loadhook;

/** Calls the probes in orders that occur only in broken programs. */
public final class Heal {
    private Heal() {
    }

    public static void main(String[] args) throws Exception {
        Tracker.configure(Integer.parseInt(args[0]), 0, 1000);
        for (int i = 0; i < 1000; i++) {
            ends();
        }
        boolean[] constructed = new boolean[1];
        Thread thread = new Thread("constructs") {
            @Override
            public void run() {
                constructs();
                constructed[0] = true;
            }
        };
        thread.start();
        thread.join();
        is(true, constructed[0], "constructed");
        // These exits have no matching frame on the path.
        Tracker.exit(5);
        Tracker.caught(5);
        // The real stack is shallower than the path, so the tracker notices that frames are stale. One frame of each
        // node stays.
        Tracker.enter(0);
        for (int i = 0; i < 100000; i++) {
            Tracker.enter(6);
            Tracker.enter(7);
            Tracker.construct(7, 1, 2);
        }
        Path path = Threads.find(Thread.currentThread());
        is(true, path.depth < 600, "stale " + path.depth);
        Tracker.exit(0);
        depth(0);
        for (int node = 0; node < path.end; node += Tree.STRIDE) {
            is(0, path.rows[node + Tree.WORK] / Tree.CALL, "active " + node);
        }
        is(0, path.marked, "marked");
        Run.dump();
        System.exit(0);
    }

    private static void ends() {
        Tracker.enter(0);
        Tracker.enter(1);
        Tracker.enter(2);
        Tracker.enter(3);
        // The methods 3 and 2 ended without an exit probe.
        Tracker.exit(1);
        depth(1);
        Tracker.enter(1);
        Tracker.enter(2);
        // The method 2 ended without an exit probe.
        Tracker.caught(1);
        depth(2);
        Tracker.enter(4);
        Tracker.exit(4);
        Tracker.exit(9);
        depth(2);
        // Only the innermost frame of the recursion ends.
        Tracker.enter(1);
        Tracker.enter(2);
        Tracker.exit(1);
        depth(2);
        Tracker.exit(0);
        depth(0);
    }

    private static void depth(int expected) {
        is(expected, Threads.find(Thread.currentThread()).depth, "depth");
    }

    private static void is(Object expected, Object found, String what) {
        if (!expected.equals(found)) {
            throw new IllegalStateException(what + ": " + found + " instead of " + expected);
        }
    }

    /** Calls the constructors 10, 11, …, which have the keys 1, 2, … Each calls the next one. */
    private static void constructs() {
        Tracker.enter(0);
        for (int method = 10; method < 90; method++) {
            Tracker.enter(method);
            Tracker.construct(method, method - 9, method - 8);
        }
        depth(81);
        Tracker.enter(90);
        Tracker.ended(90, 81);
        depth(1);
        // The constructor that was called is not the one that ended: a method between them has caught the exception.
        Tracker.enter(10);
        Tracker.construct(10, 1, 2);
        Tracker.enter(12);
        Tracker.ended(12, 3);
        depth(2);
        // The call returns, and the next constructor belongs to another object.
        Tracker.enter(11);
        Tracker.ended(11, 0);
        Tracker.constructed(10);
        Tracker.enter(11);
        Tracker.ended(11, 2);
        depth(2);
        // An inner call of the same constructor has ended by an exception, and the outer call catches it.
        Tracker.enter(10);
        Tracker.construct(10, 1, 2);
        depth(3);
        Tracker.caught(10);
        depth(2);
        Tracker.enter(10);
        Tracker.construct(10, 1, 2);
        Tracker.ended(10, 1);
        depth(1);
        // When a constructor reports that its call returned, ended frames above its own frame are removed.
        Tracker.enter(10);
        Tracker.construct(10, 1, 2);
        Tracker.enter(13);
        Tracker.construct(13, 4, 5);
        Tracker.constructed(10);
        depth(2);
        Tracker.exit(0);
        depth(0);
    }
}
