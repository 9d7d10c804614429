import java.util.Properties;
import java.util.concurrent.CountDownLatch;

/** Programs that change the JVM around them. */
public class Surroundings {
    static int sink;
    static Object[] held;

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "properties":
                System.setProperties(new Mine(args[1]));
                work();
                break;
            case "deep":
                for (int i = 0; i < 10; i++) {
                    run();
                }
                break;
            default:
                ends();
        }
        System.out.println("done");
    }

    static void leaf() {
        sink++;
    }

    static void work() {
        for (int i = 0; i < 100; i++) {
            leaf();
        }
    }

    static void run() {
        down(2000);
    }

    static void down(int depth) {
        if (depth > 0) {
            below(depth - 1);
        }
        leaf();
    }

    static void below(int depth) {
        if (depth > 0) {
            down(depth - 1);
        }
    }

    /** Lets fifty threads end while the heap is nearly full. */
    static void ends() throws Exception {
        CountDownLatch ready = new CountDownLatch(50);
        Gate gate = new Gate();
        Thread[] threads = new Thread[50];
        for (int i = 0; i < threads.length; i++) {
            // The letters at the end of the name put each thread into a group of its own.
            String name = "ends" + (char) ('a' + i % 26) + (char) ('a' + i / 26);
            threads[i] = new Thread(() -> {
                work();
                ready.countDown();
                gate.pass();
            }, name);
            threads[i].start();
        }
        ready.await();
        Gate.fill();
        gate.open();
        for (Thread thread : threads) {
            while (thread.isAlive()) {
                Thread.onSpinWait();
            }
        }
        held = null;
    }

    /** A class that is not instrumented. */
    static class Gate {
        private boolean open;

        synchronized void open() {
            open = true;
            notifyAll();
        }

        synchronized void pass() {
            while (!open) {
                try {
                    wait();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        }

        /** Fills the heap without exceeding it, since the first OutOfMemoryError would end the JVM. */
        static void fill() {
            Runtime runtime = Runtime.getRuntime();
            Object[] last = null;
            for (int size = 1 << 18; size >= 256; size /= 2) {
                while (runtime.maxMemory() - runtime.totalMemory() + runtime.freeMemory() > 8L * size + 120000) {
                    Object[] next = new Object[size];
                    next[0] = last;
                    last = next;
                }
            }
            held = last;
        }
    }

    /** System properties of the program, which replace the JVM's. This class is not instrumented. */
    static class Mine extends Properties {
        private final String how;

        Mine(String how) {
            this.how = how;
            putAll(System.getProperties());
        }

        @Override
        public String getProperty(String key, String otherwise) {
            if (key.startsWith("java.vm.")) {
                System.out.println("asked for " + key);
                if (how.equals("hang")) {
                    while (true) {
                        Thread.onSpinWait();
                    }
                }
                throw new IllegalStateException(key);
            }
            return super.getProperty(key, otherwise);
        }
    }
}
