package loadhook;

/** The sizes of arrays in bytes in this JVM. The agent measures them at the start. */
final class ArraySizes {
    /**
     * Number of low bits, below the site's id, in which a probe passes the kind of the array. The kinds 0 to 3 are those of
     * primitive elements of 1, 2, 4 and 8 bytes.
     */
    static final int KIND_BITS = 3;
    static final int REFERENCES = 4;
    private static final int KINDS = 1 << KIND_BITS;

    /**
     * For each kind of array: the bytes before its elements, plus (alignment - 1), which rounds the size up.
     */
    private static final int[] BASES = new int[KINDS];
    private static final int[] SHIFTS = new int[KINDS];
    private static long mask = -1;

    private ArraySizes() {
    }

    /** Returns the size in bytes of an array of this length. The kind is in the low bits of {@code kind}. */
    static long of(int kind, int length) {
        return BASES[kind & KINDS - 1] + ((long) length << SHIFTS[kind & KINDS - 1]) & mask;
    }

    /**
     * Sets the layout of a kind, as the agent has measured it. The agent calls this method only if allocations are
     * counted, which needs paths.
     */
    static void set(int kind, int base, int shift, int alignment) {
        if (kind == 0 && Timing.mode == Timing.SAMPLED) {
            Calibration.rehearsePaths();
        }
        BASES[kind] = base + alignment - 1;
        SHIFTS[kind] = shift;
        mask = -alignment;
    }

    /** Makes an array for the agent to measure. */
    static Object sample(int kind, int length) {
        switch (kind) {
            case 0:
                return new byte[length];
            case 1:
                return new short[length];
            case 2:
                return new int[length];
            case 3:
                return new long[length];
            default:
                return new Object[length];
        }
    }
}
