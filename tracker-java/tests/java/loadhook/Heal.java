package loadhook;

/** Calls the probes in orders that only broken programs cause. */
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
        // Exits without a matching frame.
        Tracker.exit(5);
        Tracker.caught(5);
        // The tracker detects stale frames because the real stack is shallower. One frame of each
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
        // 3 and 2 ended without exit probes.
        Tracker.exit(1);
        depth(1);
        Tracker.enter(1);
        Tracker.enter(2);
        // 2 ended without an exit probe.
        Tracker.caught(1);
        depth(2);
        Tracker.enter(4);
        Tracker.exit(4);
        Tracker.exit(9);
        depth(2);
        // The innermost frame of a recursion.
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

    /** Constructors 10, 11, … have the keys 1, 2, … and call the next one. */
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
        // The constructor called is another one than the one that ended: a method between them has
        // caught the exception.
        Tracker.enter(10);
        Tracker.construct(10, 1, 2);
        Tracker.enter(12);
        Tracker.ended(12, 3);
        depth(2);
        // The call returns, and the next constructor is for another object.
        Tracker.enter(11);
        Tracker.ended(11, 0);
        Tracker.constructed(10);
        Tracker.enter(11);
        Tracker.ended(11, 2);
        depth(2);
        // Another call of the same constructor has ended inside, and this call catches the
        // exception.
        Tracker.enter(10);
        Tracker.construct(10, 1, 2);
        depth(3);
        Tracker.caught(10);
        depth(2);
        Tracker.enter(10);
        Tracker.construct(10, 1, 2);
        Tracker.ended(10, 1);
        depth(1);
        // Ended frames above the constructor's are removed when it reports that the call returned.
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
