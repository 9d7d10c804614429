import java.io.InputStream;
import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;

/** Makes known numbers of objects where stacks are hard to follow, while classes are unloaded and the heap is full. */
public final class HprofSites {
    static class Item {
        long value;
    }

    static final class OfReflection {
        OfReflection() {}
    }

    static final class OfThread {}

    static final class Clonable implements Cloneable {
        Object next;

        Object copy() throws CloneNotSupportedException {
            return clone();
        }
    }

    /** The JIT compiler takes this class for the only maker, until {@link OtherMaker} is loaded. */
    static class Maker {
        Object make(int depth) {
            return depth > 0 ? make(depth - 1) : new Item();
        }
    }

    static final class OtherMaker extends Maker {
        @Override
        Object make(int depth) {
            return new Item();
        }
    }

    /** A class of many loaders, which are dropped. */
    public static final class Leaving implements Runnable {
        @Override
        public void run() {
            for (int at = 0; at < 100; at++) {
                sink = new Thread[at & 3];
            }
        }
    }

    /** Has the shape of {@link Leaving}, so that its methods may get the addresses of the methods of that class. */
    public static final class Passing implements Runnable {
        @Override
        public void run() {
            for (int at = 0; at < 100; at++) {
                sink = new Thread[at & 3];
            }
        }
    }

    static final class Loader extends ClassLoader {
        Runnable make(String name) throws Exception {
            try (InputStream in = HprofSites.class.getResourceAsStream(name + ".class")) {
                byte[] bytes = in.readAllBytes();
                Class<?> made = defineClass(name, bytes, 0, bytes.length);
                return (Runnable) made.getConstructor().newInstance();
            }
        }
    }

    public static volatile Object sink;
    /** Null unless the program is its own Java agent. */
    static Instrumentation instrumentation;
    /** A chain, because JDK 11 does not report objects after an array too large for the thread's buffer. */
    static Clonable kept;

    static Object make() {
        return new Item();
    }

    static void first(int count) {
        for (int at = 0; at < count; at++) {
            sink = make();
        }
    }

    static void second(int count) {
        for (int at = 0; at < count; at++) {
            sink = make();
        }
    }

    static void virtual(Maker maker, int count) {
        for (int at = 0; at < count; at++) {
            sink = maker.make(at & 3);
        }
    }

    static void keep(int count) {
        for (int at = 0; at < count; at++) {
            Clonable made = new Clonable();
            made.next = kept;
            kept = made;
        }
    }

    /** Fills the heap until it is full, and drops everything. */
    static void fill() {
        List<Object> full = new ArrayList<>();
        try {
            while (true) {
                full.add(new long[1 << 17]);
            }
        } catch (OutOfMemoryError expected) {
            full.clear();
        }
    }

    static void unload(int rounds) throws Exception {
        for (int round = 0; round < rounds; round++) {
            String name = round % 2 == 0 ? "HprofSites$Leaving" : "HprofSites$Passing";
            for (int at = 0; at < 20; at++) {
                new Loader().make(name).run();
            }
            System.gc();
        }
    }

    /** Has the JVM replace the methods, and free the old methods that do not run. */
    static void redefine() throws Exception {
        if (instrumentation != null) {
            instrumentation.retransformClasses(HprofSites.class, Maker.class);
            System.gc();
        }
    }

    static void threads(int count) throws InterruptedException {
        Thread[] some = new Thread[20];
        for (int at = 0; at < count; at += some.length) {
            for (int of = 0; of < some.length; of++) {
                some[of] = new Thread(() -> sink = new OfThread());
                some[of].start();
            }
            for (Thread thread : some) {
                thread.join();
            }
        }
    }

    public static void premain(String args, Instrumentation given) {
        instrumentation = given;
    }

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[0]);
        for (int round = 0; round < 10; round++) {
            first(2_000);
            second(3_000);
            virtual(new Maker(), 4_000);
            if (round % 3 == 2) {
                redefine();
            }
        }
        virtual(new OtherMaker(), 5_000);
        Clonable clonable = new Clonable();
        for (int at = 0; at < 6_000; at++) {
            sink = clonable.copy();
            sink = OfReflection.class.getDeclaredConstructor().newInstance();
        }
        unload(6);
        keep(7_000);
        fill();
        threads(threads);
        System.out.println("done");
    }
}
