package loadhook;

import java.util.function.IntBinaryOperator;
import java.util.function.IntConsumer;

/**
 * The probes of a tracker in another package, for an archive that has a tracker in a package of its own and does not use it:
 * {@link Trackers} tells when. Initialised when they are found, so that the JIT takes them for what they are.
 */
public final class ForeignProbes {
    public static final IntConsumer ENTER = (IntConsumer) SharedTracker.probes[1];
    public static final IntConsumer EXIT = (IntConsumer) SharedTracker.probes[2];
    public static final IntConsumer CAUGHT = (IntConsumer) SharedTracker.probes[3];
    public static final IntConsumer CONSTRUCTED = (IntConsumer) SharedTracker.probes[4];
    public static final IntBinaryOperator CONSTRUCT = (IntBinaryOperator) SharedTracker.probes[5];
    public static final IntBinaryOperator ENDED = (IntBinaryOperator) SharedTracker.probes[6];

    private ForeignProbes() {
    }

    /** Initialises this class. */
    static void prepare() {
    }
}
