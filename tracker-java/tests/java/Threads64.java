import java.util.concurrent.CountDownLatch;

/** Runs 1, 2, 4 … 64 threads at once. Each has its own work, and some erase their thread locals. */
public class Threads64 {
    /** The threads are kept, so that their last names can be read. */
    private static final Thread[][] KEPT = new Thread[65][];

    public static void main(String[] args) throws Exception {
        for (int threads = 1; threads <= 64; threads *= 2) {
            CountDownLatch start = new CountDownLatch(threads);
            Thread[] all = new Thread[threads];
            KEPT[threads] = all;
            for (int i = 0; i < threads; i++) {
                // One thread in four has the same name as others.
                String name = i % 4 == 0 ? "same" : "worker-" + threads + "-" + i;
                all[i] = new Odd(name, start, i);
                all[i].start();
            }
            for (Thread thread : all) {
                thread.join();
            }
        }
    }

    static void work(int i, String name) {
        for (int n = 0; n < 1000; n++) {
            outer(n);
            if (n == 500) {
                Thread.currentThread().setName(name + "-renamed");
            }
        }
    }

    static void outer(int n) {
        inner();
        if (n % 2 == 0) {
            inner();
        }
    }

    static void inner() {
    }

    /** A thread that overrides every method it can, with wrong results. */
    static class Odd extends Thread {
        private final CountDownLatch start;
        private final int number;

        Odd(String name, CountDownLatch start, int number) {
            super(name);
            this.start = start;
            this.number = number;
        }

        @Override
        public void run() {
            start.countDown();
            try {
                start.await();
            } catch (InterruptedException e) {
                return;
            }
            work(number, getName());
            throw new ThreadDeath();
        }

        @Override
        public long getId() {
            throw new IllegalStateException("the tracker must not call this method");
        }

        @Override
        public String toString() {
            throw new IllegalStateException("the tracker must not call this method");
        }

        @Override
        public StackTraceElement[] getStackTrace() {
            throw new IllegalStateException("the tracker must not call this method");
        }
    }
}
