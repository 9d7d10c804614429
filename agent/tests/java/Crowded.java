import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Works in three times as many threads as there are processors, so that each thread mostly has none. Three methods run
 * the same loop: the first in calls of 200 turns, the second in calls of 10,000, the third in one call, during which others
 * take the processor. Prints the processor time of each in microseconds.
 */
public class Crowded {
    static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
    static final AtomicLongArray NANOS = new AtomicLongArray(3);
    static volatile long sink;

    public static void main(String[] args) throws InterruptedException {
        Thread[] threads = new Thread[3 * Runtime.getRuntime().availableProcessors()];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(Crowded::rounds, "crowded");
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        for (int method = 0; method < 3; method++) {
            System.out.println(NANOS.get(method) / 1000);
        }
    }

    static void rounds() {
        for (int round = 0; round < 50; round++) {
            round(round);
        }
    }

    static void round(long x) {
        long start = CLOCK.getCurrentThreadCpuTime();
        for (int call = 0; call < 3000; call++) {
            x = brief(x);
        }
        long briefEnd = CLOCK.getCurrentThreadCpuTime();
        for (int call = 0; call < 60; call++) {
            x = middling(x);
        }
        long middlingEnd = CLOCK.getCurrentThreadCpuTime();
        sink = lengthy(x);
        NANOS.addAndGet(0, briefEnd - start);
        NANOS.addAndGet(1, middlingEnd - briefEnd);
        NANOS.addAndGet(2, CLOCK.getCurrentThreadCpuTime() - middlingEnd);
    }

    static long brief(long x) {
        for (int i = 0; i < 200; i++) {
            x = x * 31 + i ^ x >>> 7;
        }
        return x;
    }

    static long middling(long x) {
        for (int i = 0; i < 10000; i++) {
            x = x * 31 + i ^ x >>> 7;
        }
        return x;
    }

    static long lengthy(long x) {
        for (int i = 0; i < 1800000; i++) {
            x = x * 31 + i ^ x >>> 7;
        }
        return x;
    }
}
