package loadhook;

/**
 * The probes of hidden classes in a program that accepts orders of {@code loadhook ctl}. The JVM cannot change a
 * hidden class, so an agent cannot take these probes out for a pause. Instead, no call and no allocation is
 * counted while {@link #isPaused} is true.
 *
 * The probes at the end of a call are inherited and work during a pause, too: a call that was under way when the
 * pause began ends as usual. A call that began in the pause is unknown, and its end is ignored, with one exception:
 * if a call of the same method was under way in this thread when the pause began, {@link UnwindingPath#heal} takes
 * the end of the inner call for the end of the outer call. So the outer call, and the calls between the two, end too
 * early: their times are too short, and calls that they make later are in the tree below an outer caller. Numbers of
 * calls stay exact.
 *
 * If the probes at the end of a call did nothing either, more would be wrong. A call that ends during the pause
 * would stay on the path until a call around it ends. The outermost call of a task in a thread pool has none
 * around it, so all later calls of the thread would become its callees.
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
