import java.util.concurrent.CyclicBarrier;

/**
 * Measures nanoseconds per call of tiny methods, alone and in two threads at once; the best of
 * several rounds counts.
 */
public class Cost {
    private static final int CALLS = 2000000;

    static int sink;

    public static void main(String[] args) throws Exception {
        StringBuilder line = new StringBuilder();
        for (int shape = 0; shape < 3; shape++) {
            double best = Double.MAX_VALUE;
            for (int round = 0; round < 40; round++) {
                best = Math.min(best, PlainClock.nanos(shape));
            }
            line.append(best).append(' ');
        }
        line.append(two());
        System.out.println("RESULT " + line);
    }

    /** Returns the best time per call in nanoseconds while two threads make calls at once. */
    private static double two() throws Exception {
        final CyclicBarrier barrier = new CyclicBarrier(2);
        final double[] best = {Double.MAX_VALUE, Double.MAX_VALUE};
        Thread[] threads = new Thread[2];
        for (int i = 0; i < 2; i++) {
            final int me = i;
            threads[i] = new Thread(() -> {
                try {
                    for (int round = 0; round < 60; round++) {
                        barrier.await();
                        best[me] = Math.min(best[me], PlainClock.nanos(0));
                    }
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        return (best[0] + best[1]) / 2;
    }

    static int tiny(int x) {
        return x * 31 + 7;
    }

    static int other(int x) {
        return x * 37 + 5;
    }

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static int same(int x) {
        for (int i = 0; i < CALLS; i++) {
            x = tiny(x);
        }
        return x;
    }

    /** Calls two callees by turns, so the one-entry cache never helps. */
    static int alternating(int x) {
        for (int i = 0; i < CALLS; i += 2) {
            x = other(tiny(x));
        }
        return x;
    }

    static class PlainClock {
        static double nanos(int shape) {
            long start = System.nanoTime();
            int calls = CALLS;
            if (shape == 0) {
                sink += same(sink);
            } else if (shape == 1) {
                sink += alternating(sink);
            } else {
                sink += fib(27);
                calls = 832039;
            }
            return (double) (System.nanoTime() - start) / calls;
        }
    }
}
