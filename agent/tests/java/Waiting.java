import java.util.concurrent.CountDownLatch;

/** Two threads of a pool wait for work that never comes. A third one works. */
public final class Waiting {
    static volatile long sum;

    static void work() {
        long end = System.nanoTime() + 1_000_000_000L;
        while (System.nanoTime() < end) {
            step();
        }
    }

    static void step() {
        long own = 0;
        for (int at = 0; at < 100_000; at++) {
            own = own * 31 + at;
        }
        sum += own;
    }

    static void take(CountDownLatch work) {
        try {
            work.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    static Thread started(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws Exception {
        CountDownLatch never = new CountDownLatch(1);
        CountDownLatch last = new CountDownLatch(1);
        started("idle", () -> take(never));
        Thread ended = started("ended-1", () -> take(last));
        Thread worker = started("worker", Waiting::work);
        worker.join();
        last.countDown();
        ended.join();
    }
}
