package loadhook;

/**
 * What the probes of an archive call that was rewritten offline. Each archive has a copy under a name of its own, with its id
 * and the number of its method ids in place of {@code loadhook:archive}.
 *
 * An archive's ids count from 0. The tracker's are these and a base, which the JIT folds.
 */
public final class Part {
    /** Negative without a tracker: the probes do nothing, then. */
    private static final int BASE = base();

    private Part() {
    }

    private static int base() {
        try {
            return Parts.register(Part.class, "loadhook:archive");
        } catch (Throwable error) {
            // Nothing may come out of a static initialiser: the program would see it in place of its own work.
            return -1;
        }
    }

    /** See {@link Tracker#enter}; likewise the others. */
    public static void enter(int method) {
        if (BASE >= 0) {
            Tracker.enter(BASE + method);
        }
    }

    public static void exit(int method) {
        if (BASE >= 0) {
            Tracker.exit(BASE + method);
        }
    }

    public static void construct(int method, int key, int other) {
        if (BASE >= 0) {
            Tracker.construct(BASE + method, key, other);
        }
    }

    public static void constructed(int method) {
        if (BASE >= 0) {
            Tracker.constructed(BASE + method);
        }
    }

    public static void ended(int method, int key) {
        if (BASE >= 0) {
            Tracker.ended(BASE + method, key);
        }
    }

    public static void caught(int method) {
        if (BASE >= 0) {
            Tracker.caught(BASE + method);
        }
    }
}
