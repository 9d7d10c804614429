import java.util.concurrent.CountDownLatch;

/** Threads that wait for monitors: to enter, to be notified, and for each other. */
public final class HprofMonitors {
    static final class Gate {}

    static final class Bell {}

    static final class Left {}

    static final class Right {}

    static final Gate gate = new Gate();
    static final Bell bell = new Bell();

    static void enter() {
        synchronized (gate) {
            if (Thread.currentThread().isInterrupted()) {
                throw new IllegalStateException();
            }
        }
    }

    static void awaitState(Thread thread, Thread.State state) throws InterruptedException {
        while (thread.getState() != state) {
            Thread.sleep(1);
        }
    }

    /** Lets three threads wait for the gate, which this thread owns. */
    static void contend() throws InterruptedException {
        Thread[] threads = new Thread[3];
        synchronized (gate) {
            for (int at = 0; at < threads.length; at++) {
                threads[at] = new Thread(HprofMonitors::enter, "waits-" + at);
                threads[at].start();
                awaitState(threads[at], Thread.State.BLOCKED);
            }
            Thread.sleep(20);
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    /** Waits to be notified, which does not happen. */
    static void ring() throws InterruptedException {
        synchronized (bell) {
            bell.wait(20);
        }
    }

    static void block(String name, Object first, Object second, CountDownLatch both) {
        Thread thread =
                new Thread(
                        () -> {
                            synchronized (first) {
                                both.countDown();
                                try {
                                    both.await();
                                } catch (InterruptedException gone) {
                                    return;
                                }
                                synchronized (second) {
                                    throw new IllegalStateException();
                                }
                            }
                        },
                        name);
        thread.setDaemon(true);
        thread.start();
    }

    /** Lets two threads wait for each other until the end. */
    static void deadlock() throws InterruptedException {
        Object left = new Left();
        Object right = new Right();
        CountDownLatch both = new CountDownLatch(2);
        block("takes-left", left, right, both);
        block("takes-right", right, left, both);
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().startsWith("takes-")) {
                awaitState(thread, Thread.State.BLOCKED);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        contend();
        ring();
        deadlock();
        System.out.println("done");
    }
}
