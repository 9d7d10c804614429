import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Does for some time, on many threads at once, things that are hard for a sampler: loads and unloads classes, has code
 * deoptimised, throws through many frames, collects garbage, recurses to the end of the stack, calls native code,
 * starts and ends threads, and parks virtual threads. Each part checks its own result.
 *
 * <pre>SampledStress MILLIS</pre>
 */
public class SampledStress {
    static volatile long end;
    static volatile Object sink;
    static final AtomicLong ROUNDS = new AtomicLong();

    interface Part {
        void round(int number) throws Throwable;
    }

    public interface Shape {
        int area(int n);
    }

    public static class Square implements Shape {
        public int area(int n) {
            return n * n;
        }
    }

    public static class Twice implements Shape {
        public int area(int n) {
            return 2 * n;
        }
    }

    /** Each loader loads this class anew. This discards compiled code that assumes a single kind of shape. */
    public static class Loaded implements Shape {
        public int area(int n) {
            int sum = 0;
            for (int i = 0; i < 200; i++) {
                sum += step(n, i);
            }
            return sum;
        }

        static int step(int n, int i) {
            return (n ^ i) % 7;
        }
    }

    static final class Dropped extends ClassLoader {
        Dropped() {
            super(SampledStress.class.getClassLoader());
        }

        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    static byte[] loaded;

    static void loads(int number) throws Exception {
        Shape shape = (Shape) new Dropped().define(loaded).getConstructor().newInstance();
        int expected = new Loaded().area(number);
        for (int i = 0; i < 300; i++) {
            check(shape.area(number) == expected);
        }
    }

    static int areas(Shape shape, int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum += shape.area(i & 15);
        }
        return sum;
    }

    static void deoptimises(int number) {
        Shape shape = number % 50 < 25 ? new Square() : new Twice();
        Shape other = number % 7 == 0 ? new Shape() {
            public int area(int n) {
                return n * n;
            }
        } : new Square();
        int sum = areas(shape, 5000);
        int again = 0;
        for (int i = 0; i < 5000; i++) {
            again += number % 50 < 25 ? (i & 15) * (i & 15) : 2 * (i & 15);
        }
        check(sum == again);
        Object value = number % 31 == 0 ? "text" : (Object) Integer.valueOf(number);
        check(value instanceof String || ((Integer) value) == number);
        check(areas(other, 16) == 1240);
    }

    static int throwsAt(int depth) {
        if (depth == 0) {
            throw new IllegalStateException();
        }
        try {
            return throwsAt(depth - 1) + 1;
        } finally {
            sink = null;
        }
    }

    static void throwing(int number) {
        int depth = 1 + number % 200;
        try {
            throwsAt(depth);
            check(false);
        } catch (IllegalStateException e) {
            check(e.getStackTrace().length > depth);
        }
        try {
            Object none = number < 0 ? "" : null;
            check(none.hashCode() == 0);
        } catch (NullPointerException e) {
            sink = e;
        }
    }

    static void allocates(int number) {
        List<Object> kept = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            kept.add(i % 3 == 0 ? new byte[100 + i] : new Object[i % 50]);
        }
        Map<String, Integer> map = new HashMap<>();
        for (int i = 0; i < 500; i++) {
            map.merge("key" + (i % 50), 1, Integer::sum);
        }
        check(map.size() == 50 && map.get("key7") == 10);
        sink = kept;
        if (number % 100 == 0) {
            System.gc();
        }
    }

    static int deep(int n) {
        return n == 0 ? 0 : 1 + deep(n - 1);
    }

    static int endless(int n) {
        return endless(n + 1) + 1;
    }

    static void recurses(int number) {
        check(deep(2000) == 2000);
        if (number % 20 == 0) {
            try {
                check(endless(0) < 0);
            } catch (StackOverflowError e) {
                sink = e;
            }
        }
    }

    static void callsNative(int number) throws Exception {
        byte[] from = new byte[5000];
        byte[] to = new byte[5000];
        for (int i = 0; i < 200; i++) {
            System.arraycopy(from, i, to, 0, 4000);
        }
        java.util.zip.CRC32 crc = new java.util.zip.CRC32();
        crc.update(to);
        java.util.zip.Deflater deflater = new java.util.zip.Deflater();
        deflater.setInput(from);
        deflater.finish();
        check(deflater.deflate(to) > 0);
        deflater.end();
        Method method = SampledStress.class.getDeclaredMethod("deep", int.class);
        check((Integer) method.invoke(null, 50) == 50);
        check(new String(new char[100]).intern().length() == 100);
    }

    static void startsThreads(int number) throws Exception {
        long[] sums = new long[1];
        Thread thread = new Thread(() -> {
            for (int i = 0; i < 100000; i++) {
                sums[0] += i;
            }
        });
        thread.start();
        thread.join();
        check(sums[0] == 4999950000L);
        if (number % 200 == 0) {
            Process process = new ProcessBuilder("/bin/true").start();
            check(process.waitFor() == 0);
        }
    }

    static Method startVirtual;

    static void parks(int number) throws Exception {
        if (startVirtual == null) {
            LockSupport.parkNanos(100000);
            return;
        }
        AtomicLong sum = new AtomicLong();
        Thread[] threads = new Thread[20];
        for (int i = 0; i < threads.length; i++) {
            int depth = i * 5;
            threads[i] = (Thread) startVirtual.invoke(null, (Runnable) () -> sum.addAndGet(parkedAt(depth)));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        check(sum.get() == 20 * 19 / 2 * 5);
    }

    static int parkedAt(int depth) {
        if (depth > 0) {
            int below = parkedAt(depth - 1) + 1;
            for (int i = 0; i < 500; i++) {
                below ^= i;
            }
            for (int i = 499; i >= 0; i--) {
                below ^= i;
            }
            return below;
        }
        LockSupport.parkNanos(50000);
        Thread.yield();
        return 0;
    }

    static void check(boolean holds) {
        if (!holds) {
            throw new AssertionError();
        }
    }

    static Thread runs(String name, Part part) {
        Thread thread = new Thread(() -> {
            try {
                for (int number = 1; System.nanoTime() - end < 0 || number < 3; number++) {
                    part.round(number);
                    ROUNDS.incrementAndGet();
                }
            } catch (Throwable e) {
                e.printStackTrace();
                Runtime.getRuntime().halt(3);
            }
        }, name);
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws Exception {
        try (InputStream in = SampledStress.class.getResourceAsStream("SampledStress$Loaded.class")) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            in.transferTo(out);
            loaded = out.toByteArray();
        }
        try {
            startVirtual = Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException e) {
            // There are no virtual threads before JDK 21.
        }
        end = System.nanoTime() + Long.parseLong(args[0]) * 1000000;
        Thread[] all = {
            runs("loads", SampledStress::loads), runs("deoptimises", SampledStress::deoptimises),
            runs("throws", SampledStress::throwing), runs("allocates", SampledStress::allocates),
            runs("recurses", SampledStress::recurses), runs("native", SampledStress::callsNative),
            runs("starts", SampledStress::startsThreads), runs("parks", SampledStress::parks),
        };
        for (Thread thread : all) {
            thread.join();
        }
        System.out.println("all held");
        // Threads that still run at the end are sampled until the process has ended.
        Thread last = new Thread(() -> {
            for (;;) {
                sink = deep(100);
            }
        });
        last.setDaemon(true);
        last.start();
        System.exit(0);
    }
}
