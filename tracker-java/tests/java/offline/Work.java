import java.util.concurrent.CountDownLatch;

/**
 * A program with threads that end, a thread that does not end, two kinds of recursion, and an end as the argument says.
 */
public class Work {
    static long sum;

    public static void main(String[] args) throws Exception {
        CountDownLatch kept = new CountDownLatch(1);
        Thread keeper = new Thread(() -> keep(kept), "keeper");
        keeper.setDaemon(true);
        keeper.start();
        kept.await();
        Thread[] workers = new Thread[4];
        for (int i = 0; i < workers.length; i++) {
            workers[i] = new Thread(Work::work, "worker-" + i);
            workers[i].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
        for (int n = 0; n < 100; n++) {
            expression(6);
        }
        System.out.println("the sum is " + (sum > 0 ? "positive" : "none"));
        end(args.length == 0 ? "return" : args[0]);
    }

    static void work() {
        for (int n = 0; n < 1000; n++) {
            outer(n);
        }
    }

    static void outer(int n) {
        inner(n);
        if (n % 2 == 0) {
            inner(n);
        }
    }

    static synchronized void inner(int n) {
        for (int i = 0; i < 50; i++) {
            sum += i * n;
        }
    }

    /**
     * Calls sum(), which calls this method again. So some calls of sum() come from an expression that another sum()
     * called.
     */
    static void expression(int depth) {
        inner(depth);
        if (depth > 0) {
            sum(depth - 1);
            other(depth - 1);
        }
    }

    static void sum(int depth) {
        inner(depth);
        expression(depth - 1 < 0 ? 0 : depth - 1);
    }

    static void other(int depth) {
        if (depth > 0) {
            sum(depth - 1);
        }
    }

    static void keep(CountDownLatch kept) {
        for (int n = 0; n < 10; n++) {
            inner(n);
        }
        kept.countDown();
        synchronized (kept) {
            while (true) {
                try {
                    kept.wait();
                } catch (InterruptedException e) {
                    return;
                }
            }
        }
    }

    static void end(String how) {
        if (how.equals("exit")) {
            System.exit(7);
        } else if (how.equals("throw")) {
            throw new IllegalStateException("thrown");
        } else if (how.equals("halt")) {
            Runtime.getRuntime().halt(5);
        }
    }
}
