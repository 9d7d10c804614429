import java.util.concurrent.CountDownLatch;

/** Makes small objects and arrays that others see: nanoseconds an allocation on one thread, and on each of two. */
public final class Alloc {
    /** Short: most rounds are over before another process has the processor. */
    private static final int ROUND = 20_000;

    static final class Pair {
        final int a;
        final int b;

        Pair(int a, int b) {
            this.a = a;
            this.b = b;
        }
    }

    /** Each thread's own, far from the others'. */
    final Object[] kept = new Object[1024];

    private Alloc() {
    }

    void make(int i) {
        Object[] kept = this.kept;
        kept[i & 255] = new Pair(i, i);
        kept[256 + (i & 255)] = new int[i & 7];
    }

    static double round(Alloc alloc) {
        long start = System.nanoTime();
        for (int i = 0; i < ROUND; i++) {
            alloc.make(i);
        }
        return (System.nanoTime() - start) / (2.0 * ROUND);
    }

    /** The best of many rounds of each thread: the mean of the threads. */
    static double best(int threads, int rounds) throws InterruptedException {
        double[] best = new double[threads * 16];
        CountDownLatch ready = new CountDownLatch(threads);
        Thread[] running = new Thread[threads];
        for (int n = 0; n < threads; n++) {
            int at = n * 16;
            best[at] = Double.MAX_VALUE;
            running[n] = new Thread(() -> {
                Alloc alloc = new Alloc();
                ready.countDown();
                try {
                    ready.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                for (int round = 0; round < rounds; round++) {
                    best[at] = Math.min(best[at], round(alloc));
                }
            });
            running[n].start();
        }
        double sum = 0;
        for (int n = 0; n < threads; n++) {
            running[n].join();
            sum += best[n * 16];
        }
        return sum / threads;
    }

    public static void main(String[] args) throws InterruptedException {
        int rounds = 100 * Integer.parseInt(args[0]);
        best(1, rounds);
        System.out.println("RESULT " + best(1, rounds) + " " + best(2, rounds));
    }
}
