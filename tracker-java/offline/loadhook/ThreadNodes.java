package loadhook;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The nodes of one thread in a snapshot, as columns. */
final class ThreadNodes extends ColumnMessage {
    /** The approximate heap for a node and its figures, in bytes. */
    private static final int BYTES = 300;
    private static final int TIMES = 7;

    String name;
    long id;
    int kind;
    int count;
    /** The index of each node's parent; -1 for roots. */
    int[] parents = new int[64];
    int[] methods = new int[64];
    long[] calls = new long[64];
    /** For each node, the values of {@link #timed} to {@link #tickVariance}. */
    private long[] times = new long[64 * TIMES];

    /** Reads a THREAD record. Returns the index of the next record. */
    int begin(long[] words, int at) {
        id = words[at + 1];
        kind = (int) words[at + 2];
        byte[] utf8 = new byte[(int) words[at + 3]];
        for (int of = 0; of < utf8.length; of++) {
            utf8[of] = (byte) (words[at + 4 + of / 8] >> 56 - of % 8 * 8);
        }
        name = new String(utf8, StandardCharsets.UTF_8);
        count = 0;
        return at + 4 + (utf8.length + 7) / 8;
    }

    /** Reads a NODE record. */
    void add(long[] words, int at, Methods methods) {
        if (count == parents.length) {
            HeapCheck.require((long) BYTES * 2 * count);
            parents = Arrays.copyOf(parents, 2 * count);
            this.methods = Arrays.copyOf(this.methods, 2 * count);
            calls = Arrays.copyOf(calls, 2 * count);
            times = Arrays.copyOf(times, 2 * times.length);
        }
        parents[count] = (int) words[at + 1];
        this.methods[count] = methods.index((int) words[at + 2]);
        calls[count] = words[at + 3];
        System.arraycopy(words, at + 4, times, TIMES * count, TIMES);
        count++;
    }

    long timed(int node) {
        return times[TIMES * node];
    }

    long all(int node) {
        return times[TIMES * node + 1];
    }

    long outermost(int node) {
        return times[TIMES * node + 2];
    }

    long child(int node) {
        return times[TIMES * node + 3];
    }

    double variance(int node) {
        return Double.longBitsToDouble(times[TIMES * node + 4]);
    }

    boolean isEstimated(int node) {
        return variance(node) > 0;
    }

    long ticked(int node) {
        return times[TIMES * node + 5];
    }

    double tickVariance(int node) {
        return Double.longBitsToDouble(times[TIMES * node + 6]);
    }

    @Override
    int rows() {
        return count;
    }

    @Override
    long value(int field, int node) {
        switch (field) {
            case 4:
                return parents[node] < 0 ? 0 : node - parents[node];
            case 5:
                return methods[node];
            case 6:
                return calls[node];
            default:
                return times[TIMES * node + field - 7];
        }
    }
}
