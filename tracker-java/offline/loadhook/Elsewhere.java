package loadhook;

import java.util.function.IntBinaryOperator;
import java.util.function.IntConsumer;

/**
 * The probes of a tracker in another package, for an archive that has a tracker in a package of its own and does not use it:
 * {@link Trackers} tells when. Initialised when they are found, so that the JIT takes them for what they are.
 */
public final class Elsewhere {
    public static final IntConsumer ENTER = (IntConsumer) Trackers.probes[1];
    public static final IntConsumer EXIT = (IntConsumer) Trackers.probes[2];
    public static final IntConsumer CAUGHT = (IntConsumer) Trackers.probes[3];
    public static final IntConsumer CONSTRUCTED = (IntConsumer) Trackers.probes[4];
    public static final IntBinaryOperator CONSTRUCT = (IntBinaryOperator) Trackers.probes[5];
    public static final IntBinaryOperator ENDED = (IntBinaryOperator) Trackers.probes[6];

    private Elsewhere() {
    }

    /** Initialises this class. */
    static void prepare() {
    }
}
