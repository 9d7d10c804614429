package loadhook;

/**
 * The ranges of durations by which calls are counted. A range spans at most a sixteenth of its lower bound.
 *
 * Durations below 16 ns have a bucket each. Each power of two above has sixteen.
 */
final class Buckets {
    /** Number of buckets for each power of two, and for the durations below 16 ns together. */
    static final int PARTS = 16;
    static final int PART_BITS = 4;
    /** Number of groups of {@link #PARTS} buckets, for durations below 2^50 ns, which is thirteen days. */
    static final int GROUPS = 50 - PART_BITS + 1;
    static final int COUNT = GROUPS * PARTS;

    /** The number of bits of a double's fraction. */
    private static final int FRACTION_BITS = 52;
    /**
     * The difference between a bucket and the number that a double's exponent and the first {@link #PART_BITS}
     * bits of its fraction form. The exponent contains a bias of 1023.
     */
    private static final int MORE = (1023 + PART_BITS - 1) * PARTS;

    private Buckets() {
    }

    static int of(long nanos) {
        if (nanos < PARTS) {
            return nanos < 0 ? 0 : (int) nanos;
        }
        // The exponent selects the power of two, and the first bits of the fraction select the bucket in it.
        // Durations below 2^53 are converted exactly; longer ones are in the last bucket. Probes call this
        // method, so it must not call methods of the JDK that can have probes: doubleToRawLongBits is native, but
        // Long.numberOfLeadingZeros is not.
        int bucket = (int) (Double.doubleToRawLongBits(nanos) >>> FRACTION_BITS - PART_BITS) - MORE;
        return bucket < COUNT ? bucket : COUNT - 1;
    }

    /** Returns the largest duration of a bucket, in nanoseconds. */
    static long last(int bucket) {
        if (bucket < 2 * PARTS) {
            return bucket;
        }
        int shift = bucket / PARTS - 1;
        return ((long) (bucket % PARTS + PARTS + 1) << shift) - 1;
    }
}
