import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Programs and threads that end inside methods. */
public final class Endings {
    static volatile long leaves;

    static void leaf() {
        leaves++;
    }

    static void ends(String how, int depth) throws Exception {
        leaf();
        if (depth > 0) {
            below(how, depth - 1);
            return;
        }
        switch (how) {
            case "exit":
                Runtime.getRuntime().addShutdownHook(new Thread(Endings::hook, "hook"));
                System.exit(3);
                break;
            case "halt":
                Runtime.getRuntime().halt(4);
                break;
            default:
                throw new IllegalStateException("uncaught");
        }
    }

    static void below(String how, int depth) throws Exception {
        try {
            ends(how, depth);
        } finally {
            leaf();
        }
    }

    static void hook() {
        leaf();
    }

    // Daemon threads that still run when the program ends: one waits, one works.

    static void waits(CountDownLatch ready) {
        for (int i = 0; i < 1000; i++) {
            leaf();
        }
        parks(ready);
    }

    static void parks(CountDownLatch ready) {
        ready.countDown();
        while (true) {
            LockSupport.park();
        }
    }

    static void spins(CountDownLatch ready) {
        // Make one call before the signal, since the program may end right after it.
        spin();
        ready.countDown();
        while (true) {
            spin();
        }
    }

    static void spin() {
        Thread.onSpinWait();
    }

    static void daemons() throws InterruptedException {
        CountDownLatch ready = new CountDownLatch(4);
        for (int i = 0; i < 4; i++) {
            Thread thread = new Thread(i == 3 ? () -> spins(ready) : () -> waits(ready), "daemon-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        ready.await();
    }

    // Threads that end with an uncaught exception.

    static void uncaught() throws InterruptedException {
        for (int i = 0; i < 100; i++) {
            Thread thread = new Thread(() -> fails(3), "fails");
            thread.setUncaughtExceptionHandler((t, e) -> leaf());
            thread.start();
            thread.join();
        }
    }

    static void fails(int n) {
        leaf();
        if (n == 0) {
            throw new IllegalStateException();
        }
        fails(n - 1);
    }

    // Threads that are stopped while they sleep, on JDK 11 and 17.

    static void stopped() throws Exception {
        for (int i = 0; i < 100; i++) {
            CountDownLatch ready = new CountDownLatch(1);
            Thread thread = new Thread(() -> survives(ready), "stopped");
            thread.start();
            ready.await();
            while (thread.getState() != Thread.State.TIMED_WAITING) {
                Thread.yield();
            }
            // A JVM may lose the ThreadDeath if the thread wakes by the interruption that belongs to it.
            do {
                Thread.class.getMethod("stop").invoke(thread);
                thread.join(2000);
            } while (thread.isAlive());
        }
    }

    static void survives(CountDownLatch ready) {
        try {
            sleeps(ready);
        } catch (ThreadDeath e) {
            leaf();
        }
        leaf();
    }

    static void sleeps(CountDownLatch ready) {
        ready.countDown();
        while (true) {
            try {
                Thread.sleep(1000000);
            } catch (InterruptedException e) {
                // The thread sleeps until it is stopped again.
            }
        }
    }

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "daemons": daemons(); break;
            case "threads": uncaught(); break;
            case "stopped": stopped(); break;
            default: ends(args[0], 2); break;
        }
    }
}
