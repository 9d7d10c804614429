package loadhook;

/**
 * Runs probes, also while the thread's path is in slow code of the tracker. Calls at that time come from the tracker
 * itself, and must not be counted.
 */
public final class Inside {
    private static final int METHOD = 5;
    private static final int CALLS = 20;

    private Inside() {
    }

    public static void main(String[] args) {
        Tracker.configure(Timing.ADAPTIVE, 0, 1000);
        Tracker.enter(1);
        Path path = Tracker.path();
        long owner = path.owner;
        for (int round = 0; round < 3; round++) {
            count();
            path.owner = Path.NOBODY;
            Counters.leave();
            count();
            Counters.comeBack();
            path.owner = owner;
        }
        count();
        Tracker.exit(1);
        System.out.println(Counters.all(true).of(METHOD));
        System.exit(0);
    }

    private static void count() {
        for (int call = 0; call < CALLS; call++) {
            Tracker.count(METHOD);
        }
    }
}
