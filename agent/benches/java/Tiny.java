import java.util.concurrent.CountDownLatch;

/** Calls a tiny method: nanoseconds a call on one thread, and on each of two. */
public final class Tiny {
    private static final int CALLS = 2_000_000;

    int sum;

    private Tiny() {
    }

    int tiny(int i) {
        return sum += i;
    }

    static double round(Tiny tiny) {
        long start = System.nanoTime();
        for (int i = 0; i < CALLS; i++) {
            tiny.tiny(i);
        }
        return (System.nanoTime() - start) / (double) CALLS;
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
                Tiny tiny = new Tiny();
                ready.countDown();
                try {
                    ready.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                for (int round = 0; round < rounds; round++) {
                    best[at] = Math.min(best[at], round(tiny));
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
        int rounds = Integer.parseInt(args[0]);
        best(1, rounds);
        System.out.println("RESULT " + best(1, rounds) + " " + best(2, rounds));
    }
}
