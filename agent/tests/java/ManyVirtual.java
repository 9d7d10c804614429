import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/** Many virtual threads are alive at once. Their paths would fill the heap, which the program needs later. */
public final class ManyVirtual {
    private static final AtomicInteger ARRIVED = new AtomicInteger();
    private static final CountDownLatch GO = new CountDownLatch(1);

    static void leaf() {
    }

    static void waits() throws InterruptedException {
        leaf();
        ARRIVED.incrementAndGet();
        GO.await();
        leaf();
    }

    private static ThreadFactory factory() throws Exception {
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        Method factory = Class.forName("java.lang.Thread$Builder").getMethod("factory");
        return (ThreadFactory) factory.invoke(builder);
    }

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[0]);
        int megabytes = Integer.parseInt(args[1]);
        ThreadFactory factory = factory();
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Thread thread = factory.newThread(() -> {
                try {
                    waits();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
            all.add(thread);
            thread.start();
        }
        while (ARRIVED.get() < threads) {
            Thread.sleep(1);
        }
        List<byte[]> held = new ArrayList<>();
        for (int i = 0; i < megabytes; i++) {
            held.add(new byte[1 << 20]);
        }
        GO.countDown();
        for (Thread thread : all) {
            thread.join();
        }
        System.out.println(held.size());
    }
}
