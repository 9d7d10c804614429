import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.LongAdder;

/** Calls methods in all kinds of ways while another process changes which of them are counted. */
public class Controlled {
    static final LongAdder calls = new LongAdder();
    static volatile boolean runs;
    static volatile long sink;
    static long plain;
    static CountDownLatch release;
    static Instrumentation instrumentation;
    static byte[] first;
    static final List<Thread> threads = new ArrayList<>();

    public static void premain(String options, Instrumentation given) {
        instrumentation = given;
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        new Work().ordered();
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "start":
                    start();
                    break;
                case "stop":
                    stop();
                    System.out.println("calls " + calls.sum());
                    continue;
                case "call":
                    for (int at = 0; at < Integer.parseInt(words[1]); at++) {
                        Work.ordered();
                    }
                    break;
                case "burn":
                    burn(Long.parseLong(words[1]));
                    break;
                case "retransform":
                    retransform();
                    break;
                case "bytes":
                    System.out.println(hasFirstBytes() ? "same" : "other");
                    continue;
                default:
                    return;
            }
            System.out.println("done");
        }
    }

    /** Retransforms the class in a thread of its own until "stop". */
    static void retransform() {
        run(() -> {
            while (runs) {
                try {
                    instrumentation.retransformClasses(Work.class);
                    Thread.sleep(1);
                } catch (Exception error) {
                    throw new IllegalStateException(error);
                }
            }
        });
    }

    /** Uses this much processor time, in milliseconds, in the main thread. */
    static void burn(long millis) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long end = threads.getCurrentThreadCpuTime() + millis * 1_000_000;
        while (threads.getCurrentThreadCpuTime() < end) {
            for (int at = 0; at < 100_000; at++) {
                plain += at * 31;
            }
        }
    }

    static void start() throws Exception {
        calls.reset();
        runs = true;
        release = new CountDownLatch(1);
        CountDownLatch parked = new CountDownLatch(1);
        run(Work::looping);
        run(() -> {
            while (runs) {
                Work.recursive(30);
            }
        });
        run(() -> {
            while (runs) {
                new Work();
            }
        });
        Runnable parks = () -> Work.parking(parked);
        if (Runtime.version().feature() < 21) {
            run(parks);
        } else {
            Thread thread = (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class)
                    .invoke(null, parks);
            threads.add(thread);
        }
        parked.await();
    }

    private static void run(Runnable runnable) {
        Thread thread = new Thread(runnable);
        threads.add(thread);
        thread.start();
    }

    static void stop() throws Exception {
        runs = false;
        release.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        threads.clear();
    }

    /** The class that is changed again and again. Only {@link #stable} is counted all the time. */
    static class Work {
        Work() {
            this(1);
            stable();
        }

        Work(int number) {
            stable();
            sink = number;
        }

        static void stable() {
            calls.increment();
        }

        /** Never returns while the classes change. */
        static void looping() {
            while (runs) {
                stable();
                short_();
            }
        }

        static void short_() {
            sink++;
        }

        static int recursive(int depth) {
            stable();
            return depth == 0 ? 0 : recursive(depth - 1) + 1;
        }

        static void parking(CountDownLatch parked) {
            parked.countDown();
            try {
                release.await();
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
            stable();
        }

        /** Called only when the standard input asks for it. */
        static void ordered() {
            sink++;
        }
    }

    /** Returns whether {@link Work} has the same bytes as at the first call of this method. */
    static boolean hasFirstBytes() throws Exception {
        byte[][] seen = new byte[1][];
        // The JVM passes the class to this agent after the agent that was loaded first.
        ClassFileTransformer looks = new ClassFileTransformer() {
            @Override
            public byte[] transform(ClassLoader loader, String name, Class<?> redefined,
                    ProtectionDomain domain, byte[] bytes) {
                if (redefined == Work.class) {
                    seen[0] = bytes.clone();
                }
                return null;
            }
        };
        instrumentation.addTransformer(looks, true);
        instrumentation.retransformClasses(Work.class);
        instrumentation.removeTransformer(looks);
        if (first == null) {
            first = seen[0];
        }
        return Arrays.equals(first, seen[0]);
    }
}
