package loadhook;

/**
 * The ranges by which calls are counted by their durations. A range spans a sixteenth of its lower bound at most.
 *
 * Durations below 16 ns have a bucket each. Each power of two above has sixteen.
 */
final class Buckets {
    /** Buckets for each power of two, and for the durations below 16 ns. */
    static final int PARTS = 16;
    static final int PART_BITS = 4;
    /** Groups of {@link #PARTS} buckets, for durations up to 2^44 ns, which is almost five hours. */
    static final int GROUPS = 44 - PART_BITS + 1;
    static final int COUNT = GROUPS * PARTS;

    private Buckets() {
    }

    static int of(long nanos) {
        if (nanos < PARTS) {
            return nanos < 0 ? 0 : (int) nanos;
        }
        int shift = 63 - PART_BITS - Long.numberOfLeadingZeros(nanos);
        int bucket = shift * PARTS + (int) (nanos >> shift);
        return bucket < COUNT ? bucket : COUNT - 1;
    }

    /** The largest duration of a bucket. */
    static long last(int bucket) {
        if (bucket < 2 * PARTS) {
            return bucket;
        }
        int shift = bucket / PARTS - 1;
        return ((long) (bucket % PARTS + PARTS + 1) << shift) - 1;
    }
}
