package loadhook;

import java.util.concurrent.atomic.AtomicLong;

/** The numbers of a traced method's calls by their durations. */
final class LatencyRow {
    final int method;
    /** See {@link Latencies}; null for buckets without calls. */
    final AtomicLong[] buckets = new AtomicLong[Latencies.BUCKETS];

    LatencyRow(int method) {
        this.method = method;
    }
}
