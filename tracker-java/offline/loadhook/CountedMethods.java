package loadhook;

import java.io.IOException;
import java.util.Arrays;

/** The calls in a snapshot that were counted by method alone, as columns. */
final class CountedMethods extends ColumnMessage {
    /** The approximate heap for a method's calls, in bytes. */
    private static final int BYTES = 50;

    private int count;
    /** The methods' ids until {@link #index} replaces them by indexes. */
    private int[] methods = new int[64];
    private long[] calls = new long[64];
    private boolean isIndexed;

    /** Reads a CALLS record. */
    void add(long[] words, int at) {
        if (count == methods.length) {
            HeapCheck.require((long) BYTES * 2 * count);
            methods = Arrays.copyOf(methods, 2 * count);
            calls = Arrays.copyOf(calls, 2 * count);
        }
        methods[count] = (int) words[at + 1];
        calls[count] = words[at + 2];
        count++;
    }

    /** Gives the methods their indexes, after the indexes of the methods in the trees. */
    void index(Methods indexes) {
        for (int row = 0; row < count && !isIndexed; row++) {
            methods[row] = indexes.index(methods[row]);
        }
        isIndexed = true;
    }

    /** Writes a sample of one frame for each method, and Loadhook's own columns. */
    void write(ProtobufWriter out, boolean timed) throws IOException {
        if (count == 0) {
            return;
        }
        ProtobufWriter sample = new ProtobufWriter();
        ProtobufWriter inner = new ProtobufWriter();
        for (int row = 0; row < count; row++) {
            inner.varint(methods[row] + 1);
            sample.message(1, inner);
            inner.varint(calls[row]);
            if (timed) {
                inner.varint(0);
            }
            sample.message(2, inner);
            out.message(Pprof.SAMPLE, sample);
        }
        write(out, Pprof.OUR_METHOD_CALLS, inner, 1, 2);
    }

    @Override
    int rows() {
        return count;
    }

    @Override
    long value(int field, int row) {
        return field == 1 ? methods[row] : calls[row];
    }
}
