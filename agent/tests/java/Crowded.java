/**
 * Works in three times as many threads as there are processors, so that each thread mostly has none. Three methods run
 * the same loop, for 600,000, 600,000 and 1,800,000 turns a round: the first in calls of 200 turns, the second in calls
 * of 10,000, the third in one call, during which others take the processor.
 */
public class Crowded {
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
    }

    static void rounds() {
        for (int round = 0; round < 100; round++) {
            round(round);
        }
    }

    static void round(long x) {
        for (int call = 0; call < 3000; call++) {
            x = brief(x);
        }
        for (int call = 0; call < 60; call++) {
            x = middling(x);
        }
        sink = lengthy(x);
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
