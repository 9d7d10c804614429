import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Runs 100,000 virtual threads at once, three methods deep, and prints how much heap they take. Then runs very many,
 * one after the other.
 */
public class Virtual {
    private static final int LIVE = 100000;
    private static final int SEQUENCE = Integer.getInteger("sequence", 1000000);

    static final CountDownLatch ALL_DEEP = new CountDownLatch(LIVE);
    static final CountDownLatch GO = new CountDownLatch(1);

    public static void main(String[] args) throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        Thread[] threads = new Thread[LIVE];
        for (int i = 0; i < LIVE; i++) {
            threads[i] = (Thread) start.invoke(null, (Runnable) Virtual::one);
        }
        ALL_DEEP.await();
        PlainHeap.print("live");
        GO.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        threads = null;
        PlainHeap.print("before");
        for (int i = 0; i < SEQUENCE; i++) {
            ((Thread) start.invoke(null, (Runnable) Virtual::brief)).join();
        }
        PlainHeap.print("after");
    }

    static void one() {
        two();
    }

    static void two() {
        three();
        three();
    }

    static void three() {
        ALL_DEEP.countDown();
        try {
            GO.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void brief() {
        leaf();
    }

    static void leaf() {
    }

    static class PlainHeap {
        static void print(String when) {
            System.gc();
            Runtime runtime = Runtime.getRuntime();
            System.out.println("expect " + when + " " + (runtime.totalMemory() - runtime.freeMemory()));
        }
    }
}
