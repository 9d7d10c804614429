import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Does what its standard input asks for, so that calls are made at known moments. */
public class Attached {
    static volatile boolean loads;
    static volatile long sink;
    static final List<byte[]> kept = new ArrayList<>();

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

    /** Fills the heap but for less than 64 KB. */
    static void fill() {
        try {
            while (true) {
                kept.add(new byte[1 << 16]);
            }
        } catch (OutOfMemoryError full) {
            // The heap stays full until the order "free".
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
        boolean some = field(Class.forName("java.lang.$LoadhookCounters"), "live").getInt(null) > 0
                || field(Class.forName("java.lang.$LoadhookThreads"), "live").getInt(null) > 0;
        off.set(null, true);
        return some;
    }

    private static Field field(Class<?> in, String name) throws Exception {
        Field field = in.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    /** Loads copies of a class in several threads until {@link #loads} is false. Waits until each has loaded one. */
    static void load(int threads) throws Exception {
        byte[] bytes;
        try (InputStream in = Attached.class.getResourceAsStream("Attached$Loaded.class")) {
            bytes = in.readAllBytes();
        }
        loads = true;
        CountDownLatch begun = new CountDownLatch(threads);
        for (int at = 0; at < threads; at++) {
            Thread thread = new Thread(() -> {
                boolean isFirst = true;
                while (loads) {
                    try {
                        Class<?> loaded = new Definer().define(bytes);
                        sink += ((Runnable) loaded.getDeclaredConstructor().newInstance()).hashCode();
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

    static class Definer extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass("Attached$Loaded", bytes, 0, bytes.length);
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
