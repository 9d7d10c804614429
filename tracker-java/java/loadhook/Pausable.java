package loadhook;

/**
 * The probes of hidden classes in a program that takes orders. The JVM cannot change a hidden class, so an agent cannot
 * take these probes out for a pause. Instead, no call and no allocation is counted while {@link #isPaused} is true.
 *
 * The probes at the end of a call are inherited and work during a pause, too: a call that was under way when the pause
 * began ends as usual, and one that began in the pause is unknown and ignored.
 */
public final class Pausable extends Tracker {
    /** True during a pause. */
    static volatile boolean isPaused;

    private Pausable() {
    }

    /** Does what {@link Tracker#enter} does. */
    public static void enter(int method) {
        if (!isPaused) {
            Tracker.enter(method);
        }
    }

    /** Does what {@link Tracker#count} does. */
    @Inlined
    public static void count(int method) {
        if (!isPaused) {
            Tracker.count(method);
        }
    }

    /** Does what {@link Tracker#alloc} does. */
    public static void alloc(int site) {
        if (!isPaused) {
            Tracker.alloc(site);
        }
    }

    /** Does what {@link Tracker#allocArray} does. */
    public static void allocArray(int length, int siteAndKind) {
        if (!isPaused) {
            Tracker.allocArray(length, siteAndKind);
        }
    }

    /** Does what {@link Tracker#allocDimension} does. */
    @OutOfLine
    public static void allocDimension(int length, int dimension, int siteAndKind) {
        if (!isPaused) {
            Tracker.allocDimension(length, dimension, siteAndKind);
        }
    }
}
