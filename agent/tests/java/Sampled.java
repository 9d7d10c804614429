import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLongArray;

/** Allocates known amounts, and prints for each: the mark of the line, type, objects, bytes. */
public class Sampled {
    static volatile Object sink;
    static final Map<String, AtomicLongArray> KNOWN = new ConcurrentSkipListMap<>();

    static final class Pair {
        long a;
        long b;
    }

    interface Work {
        void run() throws Exception;
    }

    static void known(String mark, String type, long objects, long size) {
        AtomicLongArray sums = KNOWN.computeIfAbsent(mark + " " + type, key -> new AtomicLongArray(2));
        sums.addAndGet(0, objects);
        sums.addAndGet(1, objects * size);
    }

    /** Sizes of an array's header and of a reference on this JVM, in bytes. */
    static int header;
    static int reference;

    /** Returns the size of an array in bytes, rounded up to a multiple of 8. */
    static long array(long elements, int size) {
        return header + elements * size + 7 & -8L;
    }

    static void pairs(int count) {
        for (int i = 0; i < count; i++) {
            sink = new Pair(); // @pairs
        }
        known("pairs", "Sampled$Pair", count, 32);
    }

    static void bytes(int count) {
        for (int i = 0; i < count; i++) {
            sink = new byte[1 + i % 100]; // @bytes
            known("bytes", "byte[]", 1, array(1 + i % 100, 1));
        }
    }

    static void longs(int count) {
        for (int i = 0; i < count; i++) {
            sink = new long[128]; // @longs
        }
        known("longs", "long[]", count, array(128, 8));
    }

    static void strings(int count) {
        for (int i = 0; i < count; i++) {
            sink = new String[3][500]; // @strings
        }
        known("strings", "java.lang.String[]", 3L * count, array(500, reference));
    }

    static void big(int count) {
        for (int i = 0; i < count; i++) {
            sink = new int[1 << 18]; // @big
        }
        known("big", "int[]", count, array(1 << 18, 4));
    }

    static void middle(int count) {
        for (int i = 0; i < count; i++) {
            sink = new short[4096]; // @middle
        }
        known("middle", "short[]", count, array(4096, 2));
    }

    static void inThread(int count) {
        for (int i = 0; i < count; i++) {
            sink = new float[60]; // @thread
        }
        known("thread", "float[]", count, array(60, 4));
    }

    static void inShort(int count) {
        for (int i = 0; i < count; i++) {
            sink = new double[30]; // @short
        }
        known("short", "double[]", count, array(30, 8));
    }

    static void inVirtual(int count) throws Exception {
        for (int i = 0; i < count; i++) {
            sink = new boolean[200]; // @virtual
            if (i % 500 == 0) {
                Thread.sleep(1);
            }
        }
        known("virtual", "boolean[]", count, array(200, 1));
    }

    static void lambdas(int count) {
        for (int i = 0; i < count; i++) {
            int captured = i;
            sink = (Runnable) () -> sink = captured; // @lambda
        }
        known("lambda", "Sampled$$Lambda", count, header);
    }

    static void deep(int depth, int count) {
        if (depth > 0) {
            deep(depth - 1, count);
            return;
        }
        for (int i = 0; i < count; i++) {
            sink = new Object[40]; // @deep
        }
        known("deep", "java.lang.Object[]", count, array(40, reference));
    }

    static Thread start(String name, Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (Exception exception) {
                throw new IllegalStateException(exception);
            }
        }, name);
        thread.start();
        return thread;
    }

    static void all(Iterable<Thread> threads) throws InterruptedException {
        for (Thread thread : threads) {
            thread.join();
        }
    }

    public static void main(String[] args) throws Exception {
        int scale = Integer.parseInt(args[0]);
        header = Integer.parseInt(args[1]);
        reference = Integer.parseInt(args[2]);
        pairs(50_000 * scale);
        bytes(20_000 * scale);
        longs(2_000 * scale);
        strings(300 * scale);
        lambdas(100_000 * scale);
        deep(200, 10_000 * scale);
        middle(500 * scale);
        // Last: before JDK 25 such objects make the JVM lose count of this thread's bytes (see Large).
        big(2 * scale);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            threads.add(start("live-" + i, () -> inThread(5_000 * scale)));
        }
        all(threads);
        threads.clear();
        // All threads are alive at once, since the JVM seeds the random numbers of each by an address.
        CountDownLatch done = new CountDownLatch(200);
        for (int i = 0; i < 200; i++) {
            threads.add(start("pool-1-thread-" + i, () -> {
                inShort(10 * scale);
                done.countDown();
                done.await();
            }));
        }
        all(threads);
        threads.clear();
        try {
            java.lang.reflect.Method method = Thread.class.getMethod("startVirtualThread", Runnable.class);
            for (int i = 0; i < 20; i++) {
                threads.add((Thread) method.invoke(null, (Runnable) () -> {
                    try {
                        inVirtual(250 * scale);
                    } catch (Exception exception) {
                        throw new IllegalStateException(exception);
                    }
                }));
            }
        } catch (NoSuchMethodException none) {
            // There are no virtual threads before JDK 21.
        }
        all(threads);
        KNOWN.forEach((what, sums) -> System.out.println(what + " " + sums.get(0) + " " + sums.get(1)));
    }
}
