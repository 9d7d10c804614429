package loadhook;

/**
 * Counts the calls of traced methods by their durations.
 *
 * A method has a row of buckets, and a bucket spans a sixteenth of its lower bound at most. Threads add without
 * synchronisation: a call may be lost if two threads end calls of a method at the same moment. That changes no percentile
 * noticeably, and synchronisation would make each call slower.
 */
final class Latencies {
    /** Buckets for each power of two. */
    private static final int PARTS = 16;
    private static final int PART_BITS = 4;
    /** Durations up to 2^44 ns, which is almost five hours. */
    private static final int BUCKETS = (44 - PART_BITS + 1) * PARTS;
    /** The number of rows. The id of a method, cut to this many, is its row. */
    private static final int ROWS = 1 << 16;

    /** The rows; null if nothing is traced. The first element of a row is the id of its method, plus 1. */
    private static volatile int[][] rows;

    private Latencies() {
    }

    static void begin() {
        rows = Budget.hasRoom(8L * ROWS) ? new int[ROWS][] : null;
    }

    static void forget() {
        rows = null;
    }

    static void count(int method, long nanos) {
        int[][] rows = Latencies.rows;
        if (rows == null) {
            return;
        }
        int[] row = rows[method & ROWS - 1];
        if (row == null) {
            row = make(rows, method);
        }
        if (row != null && row[0] == method + 1) {
            row[1 + bucket(nanos)]++;
        }
    }

    @OutOfLine
    private static int[] make(int[][] rows, int method) {
        if (Tracker.isOff || !Budget.hasRoom(4L * (1 + BUCKETS))) {
            return null;
        }
        try {
            int[] row = new int[1 + BUCKETS];
            row[0] = method + 1;
            rows[method & ROWS - 1] = row;
            return row;
        } catch (OutOfMemoryError error) {
            return null;
        }
    }

    private static int bucket(long nanos) {
        if (nanos < PARTS) {
            return nanos < 0 ? 0 : (int) nanos;
        }
        int shift = 63 - PART_BITS - Long.numberOfLeadingZeros(nanos);
        int bucket = shift * PARTS + (int) (nanos >> shift);
        return bucket < BUCKETS ? bucket : BUCKETS - 1;
    }

    /** The largest duration of a bucket. */
    private static long last(int bucket) {
        if (bucket < 2 * PARTS) {
            return bucket;
        }
        int shift = bucket / PARTS - 1;
        return ((long) (bucket % PARTS + PARTS + 1) << shift) - 1;
    }

    /** Appends a line for each method: its id, and the largest duration and the number of calls of each bucket with calls. */
    static void write(StringBuilder text) {
        int[][] rows = Latencies.rows;
        for (int at = 0; rows != null && at < ROWS; at++) {
            int[] row = rows[at];
            if (row == null) {
                continue;
            }
            if (!Budget.hasRoom(4L * text.length())) {
                return;
            }
            text.append("latency ").append(row[0] - 1);
            for (int bucket = 0; bucket < BUCKETS; bucket++) {
                // Up to 2^32 calls: above 2^31 the element is negative.
                long calls = row[1 + bucket] & 0xffffffffL;
                if (calls != 0) {
                    text.append(' ').append(last(bucket)).append(' ').append(calls);
                }
            }
            text.append('\n');
        }
    }
}
