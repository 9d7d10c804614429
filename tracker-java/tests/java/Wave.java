import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;

/** Runs more virtual threads at once than there is room for. Then runs many more, one after the other. */
public class Wave {
    private static final int LIVE = 30000;
    private static final int LATER = 100000;

    static final CountDownLatch ALL_RUN = new CountDownLatch(LIVE);
    static final CountDownLatch GO = new CountDownLatch(1);

    public static void main(String[] args) throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        Thread[] threads = new Thread[LIVE];
        for (int i = 0; i < LIVE; i++) {
            threads[i] = (Thread) start.invoke(null, (Runnable) Wave::waits);
        }
        ALL_RUN.await();
        GO.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        threads = null;
        for (int i = 0; i < LATER; i++) {
            ((Thread) start.invoke(null, (Runnable) Wave::later)).join();
        }
    }

    static void waits() {
        ALL_RUN.countDown();
        try {
            GO.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void later() {
    }
}
