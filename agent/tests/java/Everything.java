import java.lang.instrument.Instrumentation;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.IntSupplier;

/** Allocates in every way, and prints for each: the mark of the line, type, objects, bytes, the number of
 * objects that it keeps, and the number of collections that these survive. */
public class Everything {
    static Instrumentation instrumentation;
    static volatile Object sink;
    static final Map<String, AtomicLongArray> KNOWN = new ConcurrentSkipListMap<>();
    static final List<Object> KEPT = new ArrayList<>(50_000);

    public static void premain(String args, Instrumentation given) {
        instrumentation = given;
    }

    static final class First {
    }

    public static final class Pair implements Cloneable {
        long a;
        byte b;

        public Pair() {
        }

        @Override
        public Object clone() throws CloneNotSupportedException {
            return super.clone();
        }
    }

    static void known(String mark, String type, long objects, long bytes) {
        AtomicLongArray sums = KNOWN.computeIfAbsent(mark + " " + type, key -> new AtomicLongArray(2));
        sums.addAndGet(0, objects);
        sums.addAndGet(1, bytes);
    }

    static void known(String mark, long objects, Object one) {
        String type = one.getClass().getTypeName();
        int lambda = type.indexOf("$$Lambda");
        type = lambda < 0 ? type : type.substring(0, lambda + 8);
        known(mark, type, objects, objects * instrumentation.getObjectSize(one));
    }

    static void instructions(int count) {
        for (int i = 0; i < count; i++) {
            sink = new Pair(); // @object
        }
        known("object", count, sink);
        for (int i = 0; i < count; i++) {
            sink = new byte[i % 100]; // @bytes
            known("bytes", 1, sink);
        }
        for (int i = 0; i < count; i++) {
            sink = new Pair[i % 30]; // @pairs
            known("pairs", 1, sink);
        }
        for (int i = 0; i < count; i++) {
            sink = new short[3][2]; // @shorts
        }
        known("shorts", count, sink);
        known("shorts", 3L * count, new short[2]);
        for (int i = 0; i < count; i++) {
            sink = new long[2][1][1][1][1][5]; // @deep
        }
        known("deep", 2L * count, new long[5]);
        for (int i = 0; i < 3; i++) {
            sink = new double[400_000]; // @large
        }
        known("large", 3, sink);
    }

    static void calls(int count) throws Exception {
        Pair pair = new Pair();
        for (int i = 0; i < count; i++) {
            sink = pair.clone(); // @clone
        }
        known("clone", count, sink);
        char[] chars = new char[7];
        for (int i = 0; i < count; i++) {
            sink = chars.clone(); // @chars
        }
        known("chars", count, sink);
        Pair[] pairs = new Pair[9];
        for (int i = 0; i < count; i++) {
            sink = Arrays.copyOf(pairs, 5); // @copy
        }
        known("copy", count, sink);
        Constructor<Pair> constructor = Pair.class.getConstructor();
        for (int i = 0; i < count; i++) {
            sink = constructor.newInstance(); // @reflected
        }
        known("reflected", count, sink);
        for (int i = 0; i < count; i++) {
            sink = Array.newInstance(float.class, 5); // @array
        }
        known("array", count, sink);
        for (int i = 0; i < count; i++) {
            sink = Array.newInstance(boolean.class, 2, 3); // @arrays
        }
        known("arrays", count, sink);
        known("arrays", 2L * count, new boolean[3]);
        // The first call makes two arrays in the JVM, which keeps one of them.
        sink = Pair.class.getInterfaces();
        for (int i = 0; i < count; i++) {
            sink = Pair.class.getInterfaces(); // @native
        }
        known("native", count, sink);
        String constant = "abc";
        for (int i = 0; i < count; i++) {
            sink = new String(constant); // @string
        }
        known("string", count, sink);
        for (int i = 0; i < count; i++) {
            sink = Integer.valueOf(1000 + i); // @boxed
        }
        known("boxed", count, sink);
        for (int i = 0; i < count; i++) {
            int captured = i;
            sink = (IntSupplier) () -> captured; // @lambda
        }
        known("lambda", count, sink);
        for (int i = 0; i < count; i++) {
            sink = "of " + i; // @concatenated
        }
        // These come in addition to the objects made when the call site is linked.
        known("concatenated+", count, sink);
    }

    static void inThread(int count) {
        for (int i = 0; i < count; i++) {
            sink = new int[3]; // @thread
        }
        known("thread", count, new int[3]);
    }

    static void inVirtual(int count) {
        for (int i = 0; i < count; i++) {
            sink = new int[6][]; // @virtual
            if (i % 100 == 0) {
                Thread.yield();
            }
        }
        known("virtual", count, new int[6][]);
    }

    static long collections() {
        long count = 0;
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            count += bean.getCollectionCount();
        }
        return count;
    }

    static void kept() {
        System.gc();
        long born = collections();
        for (int i = 0; i < 20_000; i++) {
            KEPT.add(new float[6]); // @kept
        }
        long made = collections();
        known("kept", 20_000, KEPT.get(0));
        for (int i = 0; i < 20_000; i += 2) {
            KEPT.set(i, null);
        }
        for (int i = 0; i < 4; i++) {
            System.gc();
        }
        System.out.println("KEPT 10000 " + 10_000 * instrumentation.getObjectSize(new float[6]));
        System.out.println("MEANWHILE " + (made - born));
    }

    static void all(Iterable<Thread> threads) throws InterruptedException {
        for (Thread thread : threads) {
            thread.join();
        }
    }

    public static void main(String[] args) throws Exception {
        sink = new First(); // @first
        known("first", 1, sink);
        int count = Integer.parseInt(args[0]);
        for (int i = 0; i < 10; i++) {
            instructions(count);
            calls(count);
        }
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            threads.add(new Thread(() -> inThread(5 * count)));
            threads.get(i).start();
        }
        all(threads);
        threads.clear();
        try {
            java.lang.reflect.Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
            for (int i = 0; i < 10; i++) {
                threads.add((Thread) start.invoke(null, (Runnable) () -> inVirtual(count)));
            }
        } catch (NoSuchMethodException none) {
            // There are no virtual threads before JDK 21.
        }
        all(threads);
        sink = null;
        kept();
        KNOWN.forEach((what, sums) -> System.out.println("MADE " + what + " " + sums.get(0) + " " + sums.get(1)));
    }
}
