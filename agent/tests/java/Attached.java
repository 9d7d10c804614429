import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.instrument.Instrumentation;
import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Does what its standard input asks for, so that calls are made at known moments. */
public class Attached {
    static volatile boolean loads;
    static volatile long sink;
    static final List<byte[]> kept = new ArrayList<>();
    static final List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
    /** Objects of classes that were loaded last. */
    static Object[] last = new Object[0];
    static Instrumentation instrumentation;

    public static void premain(String options, Instrumentation given) {
        instrumentation = given;
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "call":
                    call(Integer.parseInt(words[1]));
                    break;
                case "load":
                    load(Integer.parseInt(words[1]));
                    break;
                case "define":
                    define(Integer.parseInt(words[1]));
                    break;
                case "collect":
                    run(System::gc);
                    break;
                case "retransform":
                    run(() -> instrumentation.retransformClasses(Work.class));
                    break;
                case "sleep":
                    sleep(Integer.parseInt(words[1]));
                    break;
                case "slow":
                    slow();
                    break;
                case "hash":
                    hash(Integer.parseInt(words[1]));
                    break;
                case "loaders":
                    System.out.println(hasLoaders() ? "some" : "none");
                    continue;
                case "stop":
                    loads = false;
                    break;
                case "fill":
                    fill();
                    break;
                case "free":
                    kept.clear();
                    break;
                case "exit":
                    exit();
                    continue;
                case "probes":
                    System.out.println(hasProbes() ? "some" : "none");
                    continue;
                default:
                    return;
            }
            System.out.println("done");
        }
    }

    /** Sleeps several times. */
    static void sleep(int count) throws InterruptedException {
        for (int at = 0; at < count; at++) {
            Thread.sleep(1);
        }
    }

    /** Fills the heap but for less than 64 KB. The arrays are long at first, so that a large heap is full soon. */
    static void fill() {
        for (int length = 1 << 22; length >= 1 << 16; length >>= 1) {
            try {
                while (true) {
                    kept.add(new byte[length]);
                }
            } catch (OutOfMemoryError full) {
                // The heap stays full until the order "free".
            }
        }
    }

    /** Ends the program in another thread. A shutdown hook answers, and then waits a while. */
    static void exit() {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            System.out.println("done");
            try {
                Thread.sleep(1000);
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        }));
        new Thread(() -> System.exit(0)).start();
    }

    /** An action that may fail. */
    interface Action {
        void run() throws Exception;
    }

    /** Repeats an action in a thread of its own until {@link #loads} is false. */
    static void run(Action action) {
        loads = true;
        Thread thread = new Thread(() -> {
            try {
                while (loads) {
                    action.run();
                    Thread.sleep(1);
                }
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    /** Calls the methods from three threads, one of them this one. */
    static void call(int times) throws Exception {
        Thread[] threads = new Thread[2];
        for (int at = 0; at < threads.length; at++) {
            threads[at] = new Thread(() -> Work.run(times));
            threads[at].start();
        }
        Work.run(times);
        for (Thread thread : threads) {
            thread.join();
        }
    }

    static class Work {
        static void run(int times) {
            for (int at = 0; at < times; at++) {
                outer(at);
            }
        }

        static void outer(int at) {
            inner(at);
            inner(at + 1);
        }

        static void inner(int at) {
            long sum = 0;
            for (int i = 0; i < 5; i++) {
                sum = sum * 31 + at;
            }
            sink = sum;
        }
    }

    /** Returns whether a probe still calls the tracker. For this, the tracker is switched on again meanwhile. */
    static boolean hasProbes() throws Exception {
        Class<?> tracker = Class.forName("java.lang.$Loadhook");
        Field off = field(tracker, "isOff");
        off.set(null, false);
        call(100);
        hash(1);
        boolean some = field(Class.forName("java.lang.$LoadhookCounters"), "live").getInt(null) > 0
                || field(Class.forName("java.lang.$LoadhookThreads"), "live").getInt(null) > 0;
        off.set(null, true);
        return some;
    }

    /** Calls {@code hashCode} of the objects whose classes were loaded last. */
    static void hash(int times) throws Exception {
        if (slow != null) {
            slow.join();
        }
        for (Object loaded : last) {
            for (int at = 0; at < times; at++) {
                sink += loaded.hashCode();
            }
        }
    }

    private static Field field(Class<?> in, String name) throws Exception {
        Field field = in.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    /** Loads copies of a class in several threads until {@link #loads} is false. Waits until each has loaded one. */
    static void load(int threads) throws Exception {
        byte[] bytes = bytes("Attached$Loaded");
        loads = true;
        Object[] objects = new Object[threads];
        last = objects;
        CountDownLatch begun = new CountDownLatch(threads);
        for (int at = 0; at < threads; at++) {
            int number = at;
            Thread thread = new Thread(() -> {
                boolean isFirst = true;
                while (loads) {
                    try {
                        objects[number] = new Definer().define(bytes);
                        sink += objects[number].hashCode();
                        Thread.sleep(20);
                    } catch (ReflectiveOperationException | InterruptedException error) {
                        throw new IllegalStateException(error);
                    }
                    if (isFirst) {
                        begun.countDown();
                        isFirst = false;
                    }
                }
            });
            thread.setDaemon(true);
            thread.start();
        }
        begun.await();
    }

    /** Loads copies of a class in this thread. */
    static void define(int copies) throws Exception {
        byte[] bytes = bytes("Attached$Loaded");
        for (int at = 0; at < copies; at++) {
            sink += new Definer().define(bytes).hashCode();
        }
    }

    static class Definer extends ClassLoader {
        Definer() {
            synchronized (loaders) {
                loaders.add(new WeakReference<>(this));
            }
        }

        Object define(byte[] bytes) throws ReflectiveOperationException {
            return defineClass(null, bytes, 0, bytes.length).getDeclaredConstructor().newInstance();
        }
    }

    /** Returns whether a class loader of {@link #load} is still in memory. Objects of its classes are forgotten. */
    static boolean hasLoaders() throws Exception {
        last = new Object[0];
        for (int at = 0; at < 100; at++) {
            System.gc();
            synchronized (loaders) {
                loaders.removeIf(loader -> loader.get() == null);
                if (loaders.isEmpty()) {
                    return false;
                }
            }
            Thread.sleep(10);
        }
        return true;
    }

    static Thread slow;

    /** Loads a class in a thread, and returns when its superclass is being loaded, which takes a while. */
    static void slow() throws Exception {
        byte[] bytes = bytes("Attached$Slow");
        CountDownLatch begun = new CountDownLatch(1);
        Definer loader = new Definer() {
            @Override
            protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
                if (name.equals("Attached$Loaded")) {
                    begun.countDown();
                    try {
                        Thread.sleep(300);
                    } catch (InterruptedException error) {
                        throw new IllegalStateException(error);
                    }
                }
                return super.loadClass(name, resolve);
            }
        };
        slow = new Thread(() -> {
            try {
                last = new Object[] {loader.define(bytes)};
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        });
        slow.start();
        begun.await();
    }

    static byte[] bytes(String name) throws Exception {
        try (InputStream in = Attached.class.getResourceAsStream(name + ".class")) {
            return in.readAllBytes();
        }
    }

    public static class Slow extends Loaded {
        @Override
        public int hashCode() {
            return 2 * super.hashCode();
        }
    }

    public static class Loaded implements Runnable {
        private static int calls;

        public void run() {
            helper();
        }

        private void helper() {
            calls++;
        }

        @Override
        public int hashCode() {
            run();
            return 1;
        }
    }
}
