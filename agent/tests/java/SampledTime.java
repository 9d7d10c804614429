import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.Deflater;

/** Programs whose time is known: each prints what it measured itself, as {@code name nanoseconds}. */
public class SampledTime {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    /** Processor time of each method of {@link #rounds}, in nanoseconds. */
    private static final long[] BURNT = new long[3];

    static volatile long sink;

    public static void main(String[] args) throws Exception {
        long millis = Long.parseLong(args[1]);
        switch (args[0]) {
            case "shares":
                rounds(millis);
                break;
            case "threads":
                sameInThreads(millis);
                break;
            case "states":
                states(millis);
                break;
            case "short":
                shortThreads((int) millis);
                break;
            case "native":
                compress(millis);
                break;
            case "collect":
                collect(millis);
                break;
            case "reads":
                reads(millis);
                break;
            case "virtual":
                virtualThreads(millis);
                break;
            case "calls":
                // In the main thread, a probe takes so little that samples may miss it.
                Thread caller = new Thread(() -> calls(millis), "caller");
                caller.start();
                caller.join();
                break;
            case "brief":
                Runnable body = () -> rounds(millis);
                body.run();
                break;
            case "exit":
                rounds(millis);
                System.exit(0);
                break;
            default:
                throw new IllegalArgumentException(args[0]);
        }
    }

    /** Reads a file in memory. Each read takes milliseconds, and no signal interrupts it. */
    private static void reads(long millis) throws IOException {
        long before = THREADS.getCurrentThreadCpuTime();
        Path file = Files.createTempFile("reads", null);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer buffer = ByteBuffer.allocateDirect(32 << 20);
            channel.write(buffer, 0);
            long end = System.nanoTime() + millis * 1_000_000;
            while (System.nanoTime() - end < 0) {
                buffer.clear();
                channel.read(buffer, 0);
            }
        } finally {
            Files.delete(file);
        }
        System.out.println("reads " + (THREADS.getCurrentThreadCpuTime() - before));
    }

    /** Works for some 100 microseconds without a call. */
    private static long work(long seed) {
        long x = seed;
        for (int i = 0; i < 100_000; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
            x ^= x >>> 29;
        }
        return x;
    }

    private static long cpu() {
        return THREADS.getCurrentThreadCpuTime();
    }

    /** Works until the thread has used this much processor time. Reads the clock every few milliseconds. */
    private static long burn(long nanos) {
        long begin = cpu();
        long now = begin;
        while (now - begin < nanos) {
            for (int i = 0; i < 20; i++) {
                sink += work(sink);
            }
            now = cpu();
        }
        return now - begin;
    }

    static void most(long nanos) {
        BURNT[0] += burn(nanos);
    }

    static void less(long nanos) {
        BURNT[1] += burn(nanos);
    }

    static void least(long nanos) {
        BURNT[2] += burn(nanos);
    }

    /** Calls three methods that take 60, 30 and 10 percent of the time. */
    static void rounds(long millis) {
        long unit = 1_000_000L;
        for (long left = millis; left > 0; left -= 100) {
            most(60 * unit);
            less(30 * unit);
            least(10 * unit);
        }
        System.out.println("most " + BURNT[0]);
        System.out.println("less " + BURNT[1]);
        System.out.println("least " + BURNT[2]);
    }

    static void one(long nanos) {
        burn(nanos);
    }

    static void other(long nanos) {
        burn(nanos);
    }

    /** Makes two additions, which cost less than a probe. */
    static long tiny(long x) {
        return x + 7 + (x >> 3);
    }

    /** Calls a tiny method all the time. */
    static void calls(long millis) {
        long end = System.nanoTime() + millis * 1_000_000;
        long calls = 0;
        while (System.nanoTime() < end) {
            for (int i = 0; i < 100_000; i++) {
                sink = tiny(sink);
            }
            calls += 100_000;
        }
        System.out.println("calls " + calls);
    }

    private static void sameInThreads(long millis) throws InterruptedException {
        Thread one = new Thread(() -> one(millis * 750_000), "one");
        Thread other = new Thread(() -> other(millis * 250_000), "other");
        one.start();
        other.start();
        one.join();
        other.join();
    }

    private static final Object LOCK = new Object();
    private static final Object SIGNAL = new Object();

    static void enterMonitor() {
        synchronized (LOCK) {
            sink++;
        }
    }

    static void awaitSignal() {
        synchronized (SIGNAL) {
            try {
                SIGNAL.wait();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    static void park(CountDownLatch done) {
        while (done.getCount() > 0) {
            LockSupport.park();
        }
    }

    static void sleep(CountDownLatch done) {
        while (done.getCount() > 0) {
            try {
                Thread.sleep(300);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    static void accept(ServerSocket server) {
        try {
            server.accept().close();
        } catch (IOException e) {
            // The socket was closed.
        }
    }

    private static Thread start(String name, Runnable body) {
        Thread thread = new Thread(() -> {
            long begin = System.nanoTime();
            body.run();
            synchronized (System.out) {
                System.out.println(name + " " + (System.nanoTime() - begin));
            }
        }, name);
        thread.start();
        return thread;
    }

    /** Starts threads that wait, each for a known reason, and a thread that works. */
    private static void states(long millis) throws Exception {
        CountDownLatch done = new CountDownLatch(1);
        ServerSocket server = new ServerSocket(0);
        List<Thread> threads = new ArrayList<>();
        synchronized (LOCK) {
            threads.add(start("monitor", SampledTime::enterMonitor));
            threads.add(start("waiting", SampledTime::awaitSignal));
            threads.add(start("parked", () -> park(done)));
            threads.add(start("sleeping", () -> sleep(done)));
            threads.add(start("reading", () -> accept(server)));
            threads.add(start("working", () -> burn(millis * 500_000)));
            Thread.sleep(millis);
        }
        done.countDown();
        LockSupport.unpark(threads.get(2));
        synchronized (SIGNAL) {
            SIGNAL.notifyAll();
        }
        server.close();
        for (Thread thread : threads) {
            thread.join();
        }
    }

    /** Runs many threads, each of which does little. */
    private static void shortThreads(int count) throws InterruptedException {
        Thread[] threads = new Thread[20];
        for (int i = 0; i < count; i++) {
            Thread before = threads[i % threads.length];
            if (before != null) {
                before.join();
            }
            Thread thread = new Thread(SampledTime::little, "short-" + i);
            threads[i % threads.length] = thread;
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    static void little() {
        sink += work(sink);
    }

    /** Works in native code. */
    static void compress(long millis) {
        byte[] input = new byte[1 << 20];
        for (int i = 0; i < input.length; i++) {
            input[i] = (byte) (i * 31 ^ i >>> 7);
        }
        byte[] output = new byte[1 << 21];
        long end = cpu() + millis * 1_000_000;
        while (cpu() < end) {
            Deflater deflater = new Deflater(9);
            deflater.setInput(input);
            deflater.finish();
            sink += deflater.deflate(output);
            deflater.end();
        }
    }

    private static Object[] kept;

    /** Makes work for the collector. */
    static void collect(long millis) {
        long end = cpu() + millis * 1_000_000;
        int at = 0;
        kept = new Object[200_000];
        while (cpu() < end) {
            for (int i = 0; i < 100_000; i++) {
                kept[at++ % kept.length] = new byte[64];
            }
            if (at % 1_000_000 == 0) {
                System.gc();
            }
        }
    }

    static void inVirtual(long nanos) {
        burnVirtual(nanos);
    }

    /** Works in a virtual thread, which has no processor clock of its own. */
    private static void burnVirtual(long millis) {
        for (long i = 0; i < millis * 10; i++) {
            sink += work(sink);
            if (i % 50 == 0) {
                Thread.yield();
            }
        }
    }

    private static void virtualThreads(long millis) throws Exception {
        var start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            threads.add((Thread) start.invoke(null, (Runnable) () -> inVirtual(millis / 4)));
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
