package loadhook;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts the calls of traced methods by their durations.
 *
 * A method has a row of buckets, and a bucket spans a sixteenth of its lower bound at most. Threads add to a bucket
 * atomically, so each call is counted. Rows and buckets are made under the {@link Lock}.
 */
final class Latencies {
    /** Buckets for each power of two. */
    private static final int PARTS = 16;
    private static final int PART_BITS = 4;
    /** Durations up to 2^44 ns, which is almost five hours. */
    static final int BUCKETS = (44 - PART_BITS + 1) * PARTS;
    /** The number of rows. The id of a method, cut to this many, is its row. */
    private static final int ROWS = 1 << 16;

    /** The rows; null if nothing is traced. */
    private static volatile LatencyRow[] rows;

    private Latencies() {
    }

    static void begin() {
        rows = Budget.hasRoom(8L * ROWS) ? new LatencyRow[ROWS] : null;
    }

    static void forget() {
        rows = null;
    }

    static void count(int method, long nanos) {
        LatencyRow[] rows = Latencies.rows;
        if (rows == null) {
            return;
        }
        LatencyRow row = rows[method & ROWS - 1];
        if (row != null && row.method != method) {
            return;
        }
        int bucket = bucket(nanos);
        AtomicLong calls = row == null ? null : row.buckets[bucket];
        if (calls == null) {
            calls = make(rows, method, bucket);
        }
        if (calls != null) {
            calls.getAndIncrement();
        }
    }

    /** Makes a bucket, unless another thread has. Null without memory, and if the row belongs to another method. */
    @OutOfLine
    private static AtomicLong make(LatencyRow[] rows, int method, int bucket) {
        Thread thread = Thread.currentThread();
        if (Threads.isOurs(thread) || !Budget.hasRoomForPath()) {
            return null;
        }
        long ticket = 0;
        try {
            ticket = Lock.take(thread);
            return ticket == 0 ? null : made(rows, method, bucket);
        } catch (OutOfMemoryError error) {
            return null;
        } finally {
            if (ticket != 0) {
                Lock.holder = null;
                Lock.given = ticket;
            } else {
                Lock.giveBack(thread);
            }
        }
    }

    @Guarded
    private static AtomicLong made(LatencyRow[] rows, int method, int bucket) {
        int at = method & ROWS - 1;
        LatencyRow row = rows[at];
        if (row == null) {
            row = new LatencyRow(method);
            rows[at] = row;
        }
        AtomicLong calls = row.buckets[bucket];
        if (calls == null && row.method == method) {
            calls = new AtomicLong();
            row.buckets[bucket] = calls;
        }
        return row.method == method ? calls : null;
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
        LatencyRow[] rows = Latencies.rows;
        for (int at = 0; rows != null && at < ROWS; at++) {
            LatencyRow row = rows[at];
            if (row == null) {
                continue;
            }
            if (!Budget.hasRoom(4L * text.length())) {
                return;
            }
            text.append("latency ").append(row.method);
            for (int bucket = 0; bucket < BUCKETS; bucket++) {
                AtomicLong calls = row.buckets[bucket];
                if (calls != null) {
                    text.append(' ').append(last(bucket)).append(' ').append(calls.get());
                }
            }
            text.append('\n');
        }
    }
}
