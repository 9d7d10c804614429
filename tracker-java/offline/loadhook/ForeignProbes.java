package loadhook;

import java.util.function.IntBinaryOperator;
import java.util.function.IntConsumer;

/**
 * The probes of a tracker in another package. An archive uses them instead of its own tracker, see
 * {@link SharedTracker}. The class is initialised when the probes are found, so that the JIT treats
 * them as constants.
 */
public final class ForeignProbes {
    public static final IntConsumer ENTER = (IntConsumer) SharedTracker.probes[1];
    public static final IntConsumer EXIT = (IntConsumer) SharedTracker.probes[2];
    public static final IntConsumer CAUGHT = (IntConsumer) SharedTracker.probes[3];
    public static final IntConsumer CONSTRUCTED = (IntConsumer) SharedTracker.probes[4];
    public static final IntBinaryOperator CONSTRUCT = (IntBinaryOperator) SharedTracker.probes[5];
    public static final IntBinaryOperator ENDED = (IntBinaryOperator) SharedTracker.probes[6];
    public static final IntConsumer COUNT = (IntConsumer) SharedTracker.probes[7];

    private ForeignProbes() {
    }

    /** Does nothing; the call initialises this class. */
    static void prepare() {
    }
}
