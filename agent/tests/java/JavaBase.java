import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.StringJoiner;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Calls methods of the JDK a known number of times, and depends on the results. */
public final class JavaBase {
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static int shared;
    private static int depth;

    static int queue(int n) {
        ArrayDeque<Integer> queue = new ArrayDeque<>();
        for (int i = 0; i < n; i++) {
            queue.addLast(i);
        }
        return queue.size();
    }

    /** Calls constructors of the JDK, half of which throw. */
    static int constructors(int n) {
        int failed = 0;
        for (int i = 0; i < n; i++) {
            try {
                new BitSet(i % 2 == 0 ? -1 : 64);
            } catch (NegativeArraySizeException expected) {
                failed++;
            }
        }
        return failed;
    }

    static void deeper() {
        depth++;
        new StringJoiner(",").add("x");
        deeper();
    }

    static int overflows(int n) {
        int caught = 0;
        for (int i = 0; i < n; i++) {
            try {
                deeper();
            } catch (StackOverflowError expected) {
                caught++;
            }
        }
        return caught;
    }

    static void locked() {
        LOCK.lock();
        try {
            shared++;
        } finally {
            LOCK.unlock();
        }
    }

    static int threads(int threads, int rounds) throws InterruptedException {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        CountDownLatch done = new CountDownLatch(threads);
        for (int i = 0; i < threads; i++) {
            pool.execute(() -> {
                for (int round = 0; round < rounds; round++) {
                    locked();
                }
                done.countDown();
            });
        }
        done.await();
        pool.shutdown();
        return shared;
    }

    static String streams() {
        List<String> names = IntStream.range(0, 100).mapToObj(i -> "n" + i % 7).collect(Collectors.toList());
        return names.stream().distinct().sorted().collect(Collectors.joining(" "));
    }

    static int reflection() throws Exception {
        int sum = 0;
        for (int i = 0; i < 100; i++) {
            sum += (Integer) JavaBase.class.getDeclaredMethod("queue", int.class).invoke(null, 10);
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        System.out.println(queue(10_000));
        System.out.println(constructors(10_000));
        System.out.println(overflows(10));
        System.out.println(threads(8, 5_000));
        System.out.println(streams());
        System.out.println(reflection());
        System.out.println(new ArrayList<>(List.of(3, 2, 1)).toString() + String.format("%5.2f|%s", 1.5, "x"));
    }
}
