package loadhook;

import java.util.function.IntBinaryOperator;
import java.util.function.IntConsumer;

/**
 * This tracker's probes for archives that are not linked with it. The probes have types of the JDK,
 * so they work across packages and modules.
 */
final class ExportedProbes {
    private ExportedProbes() {
    }

    /** Returns the base, followed by the probes in the order of {@link ForeignProbes}. */
    static Object[] probes(int base) {
        return new Object[] {base, new Enter(), new Exit(), new Caught(), new Constructed(), new Construct(), new Ended(), new Count()};
    }

    static final class Enter implements IntConsumer {
        @Override
        public void accept(int method) {
            Tracker.enter(method);
        }
    }

    static final class Count implements IntConsumer {
        @Override
        public void accept(int method) {
            Tracker.count(method);
        }
    }

    static final class Exit implements IntConsumer {
        @Override
        public void accept(int method) {
            Tracker.exit(method);
        }
    }

    static final class Caught implements IntConsumer {
        @Override
        public void accept(int method) {
            Tracker.caught(method);
        }
    }

    static final class Constructed implements IntConsumer {
        @Override
        public void accept(int method) {
            Tracker.constructed(method);
        }
    }

    static final class Construct implements IntBinaryOperator {
        /**
         * Reads two signed keys from {@code keys}: the constructor's own key from the upper 16 bits, the key of
         * the called constructor from the lower 16 bits.
         */
        @Override
        public int applyAsInt(int method, int keys) {
            Tracker.construct(method, keys >> 16, (short) keys);
            return 0;
        }
    }

    static final class Ended implements IntBinaryOperator {
        @Override
        public int applyAsInt(int method, int key) {
            Tracker.ended(method, key);
            return 0;
        }
    }
}
