package loadhook;

import java.util.concurrent.atomic.AtomicLong;

/** The numbers of a traced method's calls by their durations. */
final class TracedLatencyRow {
    final int method;
    /** The number of calls in each bucket; null for buckets without calls. */
    final AtomicLong[] buckets = new AtomicLong[Buckets.COUNT];

    TracedLatencyRow(int method) {
        this.method = method;
    }
}
