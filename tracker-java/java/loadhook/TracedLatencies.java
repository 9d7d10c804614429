package loadhook;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts the calls of traced methods by their durations.
 *
 * A method has a row of {@link Buckets}. Threads add to a bucket atomically, so no call is lost. A thread that
 * makes a row or a bucket holds the {@link Lock}.
 */
final class TracedLatencies {
    /** The number of rows. The low bits of a method's id are the index of its row. */
    private static final int ROWS = 1 << 16;

    /** The rows; null if nothing is traced. */
    private static volatile TracedLatencyRow[] rows;

    private TracedLatencies() {
    }

    static void begin() {
        rows = Budget.hasRoom(8L * ROWS) ? new TracedLatencyRow[ROWS] : null;
    }

    static void forget() {
        rows = null;
    }

    static void count(int method, long nanos) {
        TracedLatencyRow[] rows = TracedLatencies.rows;
        if (rows == null) {
            return;
        }
        TracedLatencyRow row = rows[method & ROWS - 1];
        if (row != null && row.method != method) {
            return;
        }
        int bucket = Buckets.of(nanos);
        AtomicLong calls = row == null ? null : row.buckets[bucket];
        if (calls == null) {
            calls = make(rows, method, bucket);
        }
        if (calls != null) {
            calls.getAndIncrement();
        }
    }

    /**
     * Makes a bucket, unless another thread has made it. Returns null without memory, and if the row belongs to
     * another method.
     */
    @OutOfLine
    private static AtomicLong make(TracedLatencyRow[] rows, int method, int bucket) {
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
    private static AtomicLong made(TracedLatencyRow[] rows, int method, int bucket) {
        int at = method & ROWS - 1;
        TracedLatencyRow row = rows[at];
        if (row == null) {
            row = new TracedLatencyRow(method);
            rows[at] = row;
        }
        AtomicLong calls = row.buckets[bucket];
        if (calls == null && row.method == method) {
            calls = new AtomicLong();
            row.buckets[bucket] = calls;
        }
        return row.method == method ? calls : null;
    }

    /**
     * Appends a line for each method: its id, then for each bucket with calls the largest duration and the number
     * of calls.
     */
    static void write(StringBuilder text) {
        TracedLatencyRow[] rows = TracedLatencies.rows;
        for (int at = 0; rows != null && at < ROWS; at++) {
            TracedLatencyRow row = rows[at];
            if (row == null) {
                continue;
            }
            if (!Budget.hasRoom(4L * text.length())) {
                return;
            }
            text.append("latency ").append(row.method);
            for (int bucket = 0; bucket < Buckets.COUNT; bucket++) {
                AtomicLong calls = row.buckets[bucket];
                if (calls != null) {
                    text.append(' ').append(Buckets.last(bucket)).append(' ').append(calls.get());
                }
            }
            text.append('\n');
        }
    }
}
