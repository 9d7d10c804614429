package loadhook;

/** Counts calls by their durations, fills buckets, and moves all to a sum. */
public final class Durations {
    private Durations() {
    }

    public static void main(String[] args) {
        Tracker.configure(Timing.EXACT, 0, 1000);
        buckets();
        Latencies one = new Latencies(true);
        for (int method = 0; method < 2000; method++) {
            count(one, method, Buckets.of(method), 1);
        }
        count(one, 7, 3, Integer.MAX_VALUE - 1);
        count(one, 7, 3, 1);
        // The bucket is full now, so the method gets another row.
        count(one, 7, 3, 5);
        is(Integer.MAX_VALUE + 5L, calls(one, 7, 3));
        is(1, calls(one, 7, Buckets.of(7)));
        Latencies sum = new Latencies(false);
        sum.add(one);
        sum.add(one);
        is(2 * (Integer.MAX_VALUE + 5L), calls(sum, 7, 3));
        is(2, calls(sum, 1999, Buckets.of(1999)));
        sum.take(one);
        is(0, calls(one, 7, 3));
        is(3, calls(sum, 1999, Buckets.of(1999)));
        is(3 * (Integer.MAX_VALUE + 5L), calls(sum, 7, 3));
        one.giveBack();
        one.giveBack();
        long most = Runtime.getRuntime().maxMemory() >> 4;
        if (!Budget.holdLatencies(most) || Budget.holdLatencies(1)) {
            throw new AssertionError("the memory was not given back, or twice");
        }
        System.out.println("counted");
        System.exit(0);
    }

    private static void buckets() {
        int last = 0;
        for (long nanos = 0; nanos > -1 && nanos < 1L << 56; nanos += 1 + nanos / 50) {
            int bucket = Buckets.of(nanos);
            if (bucket < last || bucket >= Buckets.COUNT || nanos < 1L << 50 && Buckets.last(bucket) < nanos
                    || Buckets.last(bucket) > nanos + nanos / 16) {
                throw new AssertionError(nanos + " ns in bucket " + bucket);
            }
            last = bucket;
        }
        is(0, Buckets.of(-1));
        is(Buckets.COUNT - 1, Buckets.of(Long.MAX_VALUE));
    }

    private static void count(Latencies latencies, int method, int bucket, int calls) {
        int place = latencies.place(method, bucket);
        latencies.words[place] += calls;
    }

    private static long calls(Latencies latencies, int method, int bucket) {
        long calls = 0;
        long[] record = new long[Latencies.RECORD_WORDS];
        for (int row = latencies.last(); row != 0; row = latencies.before(row)) {
            int words = latencies.write(row, record, 0);
            for (int word = 3; word < words && record[1] == method; word++) {
                calls += (record[word] & 1023) == bucket ? record[word] >>> 10 : 0;
            }
        }
        return calls;
    }

    private static void is(long expected, long found) {
        if (found != expected) {
            throw new AssertionError(expected + " expected, " + found + " found");
        }
    }
}
