import java.lang.reflect.Field;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** The same work on many threads of different names. */
public final class Threads {
    static final int ROUNDS = 5000;

    static final class Enough extends RuntimeException {
        Enough() {
            super(null, null, false, false);
        }
    }

    static void leaf() {
    }

    static void work() {
        for (int i = 0; i < ROUNDS; i++) {
            try {
                step(i);
            } catch (Enough e) {
                leaf();
            }
        }
    }

    static void step(int i) {
        if (i % 2 == 0) {
            throw new Enough();
        }
        leaf();
    }

    /** Overrides every method of Thread that it can. The tracker must not identify threads by these methods. */
    static final class Impostor extends Thread {
        Impostor(String name) {
            super(name);
        }

        @Override
        public void run() {
            work();
        }

        @Override
        public long getId() {
            return 1;
        }

        @Override
        public String toString() {
            throw new Enough();
        }
    }

    static void renamed() {
        for (int i = 0; i < 50; i++) {
            Thread.currentThread().setName("name " + (char) ('a' + i % 26));
            work();
        }
    }

    /** Clears the thread's thread-locals, as some thread pools do between tasks. */
    static void erased(Field locals) {
        try {
            for (int i = 0; i < 10; i++) {
                locals.set(Thread.currentThread(), null);
                work();
            }
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    static void parent() throws InterruptedException {
        Thread child = new Thread(Threads::work, "same");
        child.start();
        work();
        child.join();
    }

    static void together(Thread... threads) throws InterruptedException {
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    static Thread[] many(int count, String name, boolean numbered) {
        CountDownLatch begin = new CountDownLatch(count);
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            threads[i] = new Thread(() -> {
                begin.countDown();
                try {
                    begin.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                work();
            }, numbered ? name + "-" + i : name);
        }
        return threads;
    }

    static void pool() throws InterruptedException {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        for (int i = 0; i < 1000; i++) {
            int task = i;
            pool.execute(() -> {
                leaf();
                if (task % 100 == 0) {
                    throw new Enough();
                }
            });
        }
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.HOURS);
    }

    public static void main(String[] args) throws Exception {
        // Exceptions of pool threads are not printed.
        Thread.setDefaultUncaughtExceptionHandler((thread, e) -> leaf());
        for (int count : new int[] {1, 2, 8, 64}) {
            together(many(count, "numbered", true));
            together(many(count, "same", false));
        }
        together(new Impostor("same"), new Impostor("impostor"), new Impostor("impostor"));
        Thread parent = new Thread(() -> {
            try {
                parent();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }, "same");
        together(new Thread(Threads::renamed), new Thread(Threads::renamed), parent);
        Field locals = Thread.class.getDeclaredField("threadLocals");
        locals.setAccessible(true);
        together(new Thread(() -> erased(locals), "erased"), new Thread(() -> erased(locals), "erased"));
        pool();
        work();
    }
}
