package loadhook;

/** The bytes of arrays, as this virtual machine lays them out; the agent asks it at the start. */
final class ArraySizes {
    /**
     * The kinds 0 to 3 are those of primitive elements of 1, 2, 4 and 8 bytes. A probe passes the kind in so many low bits,
     * below the site's id.
     */
    static final int KIND_BITS = 3;
    static final int REFERENCES = 4;
    private static final int KINDS = 1 << KIND_BITS;

    /** What comes before the elements, and what rounding up takes. */
    private static final int[] BASES = new int[KINDS];
    private static final int[] SHIFTS = new int[KINDS];
    private static long mask = -1;

    private ArraySizes() {
    }

    /** Of the kind in a probe's low bits. */
    static long of(int kind, int length) {
        return BASES[kind & KINDS - 1] + ((long) length << SHIFTS[kind & KINDS - 1]) & mask;
    }

    /** The agent has found it. */
    static void set(int kind, int base, int shift, int alignment) {
        BASES[kind] = base + alignment - 1;
        SHIFTS[kind] = shift;
        mask = -alignment;
    }

    /** An array for the agent to measure. */
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
