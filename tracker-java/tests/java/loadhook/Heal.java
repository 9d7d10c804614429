package loadhook;

/** Calls the probes as broken programs would. */
public final class Heal {
    private Heal() {
    }

    public static void main(String[] args) throws Exception {
        Tracker.configure(Integer.parseInt(args[0]), 0, 1000);
        for (int i = 0; i < 1000; i++) {
            ends();
        }
        // Exits that nobody waits for.
        Tracker.exit(5);
        Tracker.caught(5);
        // A stack of stale frames is found out by the real one being shallower, and one frame of each stays.
        Tracker.enter(0);
        for (int i = 0; i < 100000; i++) {
            Tracker.enter(6);
            Tracker.enter(7);
        }
        Path path = Threads.find(Thread.currentThread());
        is(true, path.depth < 600, "stale " + path.depth);
        Tracker.exit(0);
        depth(0);
        for (int node = 0; node < path.end; node += Tree.STRIDE) {
            is(0, path.rows[node + Tree.ACTIVE], "active " + node);
        }
        is(0, path.stamped, "stamped");
        Run.dump();
        System.exit(0);
    }

    private static void ends() {
        Tracker.enter(0);
        Tracker.enter(1);
        Tracker.enter(2);
        Tracker.enter(3);
        // 3 and 2 ended unseen.
        Tracker.exit(1);
        depth(1);
        Tracker.enter(1);
        Tracker.enter(2);
        // 2 ended unseen.
        Tracker.caught(1);
        depth(2);
        Tracker.enter(4);
        Tracker.exit(4);
        Tracker.exit(9);
        depth(2);
        // The nearest one of a recursion.
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
}
