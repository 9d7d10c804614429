import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Starts virtual threads. Prints the bytes of a waiting thread, which is three methods deep; the nanoseconds of each of
 * many short threads; and the bytes by which the used heap varies while the short threads run.
 */
public final class Virtual {
    private static final CountDownLatch GO = new CountDownLatch(1);
    private static final AtomicInteger ENTERED = new AtomicInteger();

    private Virtual() {
    }

    static void one() {
        two();
    }

    static void two() {
        three();
    }

    static void three() {
        ENTERED.incrementAndGet();
        try {
            GO.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void brief() {
        ENTERED.incrementAndGet();
    }

    static long used() throws InterruptedException {
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(50);
        }
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    static void until(int entered) throws InterruptedException {
        while (ENTERED.get() < entered) {
            Thread.sleep(10);
        }
    }

    public static void main(String[] args) throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        int live = Integer.parseInt(args[0]);
        int brief = Integer.parseInt(args[1]);
        Thread[] threads = new Thread[live];
        for (int n = 0; n < 1000; n++) {
            ((Thread) start.invoke(null, (Runnable) Virtual::brief)).join();
        }
        long before = used();
        for (int n = 0; n < live; n++) {
            threads[n] = (Thread) start.invoke(null, (Runnable) Virtual::one);
        }
        until(1000 + live);
        long bytes = (used() - before) / live;
        GO.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        threads = null;
        long least = Long.MAX_VALUE;
        long most = 0;
        long began = System.nanoTime();
        for (int n = 1; n <= brief; n++) {
            ((Thread) start.invoke(null, (Runnable) Virtual::brief)).join();
            if (n % Math.max(1, brief / 5) == 0) {
                long used = used();
                least = Math.min(least, used);
                most = Math.max(most, used);
            }
        }
        double nanos = (System.nanoTime() - began) / (double) Math.max(1, brief);
        System.out.println("RESULT " + bytes + " " + nanos + " " + (most - least));
    }
}
