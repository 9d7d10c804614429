import java.util.concurrent.CountDownLatch;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;

/** Measures the nanoseconds of an operation on one thread, and on each of two threads. */
final class Best {
    private Best() {
    }

    /** Prints both numbers of nanoseconds. Each thread has its own round, which returns the nanoseconds of one operation. */
    static void print(int rounds, Supplier<DoubleSupplier> makesRound) throws InterruptedException {
        of(1, rounds, makesRound);
        System.out.println("RESULT " + of(1, rounds, makesRound) + " " + of(2, rounds, makesRound));
    }

    /** Returns the nanoseconds of an operation in the best round of each thread, as the mean over the threads. */
    private static double of(int threads, int rounds, Supplier<DoubleSupplier> makesRound) throws InterruptedException {
        double[] best = new double[threads * 16];
        CountDownLatch ready = new CountDownLatch(threads);
        Thread[] running = new Thread[threads];
        for (int n = 0; n < threads; n++) {
            int at = n * 16;
            best[at] = Double.MAX_VALUE;
            running[n] = new Thread(() -> {
                DoubleSupplier round = makesRound.get();
                ready.countDown();
                try {
                    ready.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                for (int i = 0; i < rounds; i++) {
                    best[at] = Math.min(best[at], round.getAsDouble());
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
}
