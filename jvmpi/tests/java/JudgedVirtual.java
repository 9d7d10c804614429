import java.lang.reflect.Method;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Runs a known number of virtual threads, which leave their carriers in the middle of calls, and prints the numbers of
 * their calls. On a JDK without virtual threads it does nothing.
 *
 * With an argument, it only starts and ends this number of virtual threads.
 */
public class JudgedVirtual {
    static final int THREADS = 100, ROUNDS = 12, THROWN = 3, WAVE = 2000;

    static Object builder;
    static Method name, start;
    static final AtomicInteger LEAVES = new AtomicInteger();

    public static void main(String[] args) throws Exception {
        if (!hasVirtualThreads()) {
            return;
        }
        if (args.length == 1) {
            many(Integer.parseInt(args[0]));
            return;
        }
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            threads[i] = start("virtual-" + i, new Body());
        }
        join(threads);
        dumps();
        int rounds = THREADS * ROUNDS, thrown = THREADS * (ROUNDS / THROWN);
        edge("$Body.run", ".outer", rounds);
        edge(".outer", ".inner", rounds);
        edge(".inner", ".leaves", rounds);
        edge(".inner", "$Fault.<init>", thrown);
        edge(".outer", ".caught", thrown);
        System.out.println("total virtual-started " + (THREADS + 4));
        System.out.println("total virtual-ended " + (THREADS + 4));
    }

    static boolean hasVirtualThreads() throws Exception {
        try {
            builder = Thread.class.getMethod("ofVirtual").invoke(null);
        } catch (NoSuchMethodException olderJdk) {
            return false;
        }
        Class<?> type = Class.forName("java.lang.Thread$Builder");
        name = type.getMethod("name", String.class);
        start = type.getMethod("start", Runnable.class);
        return true;
    }

    static Thread start(String named, Runnable body) throws Exception {
        return (Thread) start.invoke(name.invoke(builder, named), body);
    }

    static void join(Thread... threads) throws InterruptedException {
        for (Thread thread : threads) {
            thread.join();
        }
    }

    static void many(int count) throws Exception {
        Runnable leaves = new Leaves();
        for (int done = 0; done < count; done += WAVE) {
            Thread[] threads = new Thread[Math.min(WAVE, count - done)];
            for (int i = 0; i < threads.length; i++) {
                threads[i] = start("virtual-", leaves);
            }
            join(threads);
        }
        System.out.println("total virtual-started " + count);
        System.out.println("total virtual-ended " + count);
    }

    static class Leaves implements Runnable {
        @Override
        public void run() {
            Thread.yield();
        }
    }

    static class Body implements Runnable {
        @Override
        public void run() {
            for (int round = 0; round < ROUNDS; round++) {
                outer(round);
            }
        }
    }

    static void outer(int round) {
        try {
            inner(round);
        } catch (Fault fault) {
            caught();
        }
    }

    static void inner(int round) {
        leaves(round);
        if (round % THROWN == 0) {
            throw new Fault();
        }
    }

    static class Fault extends RuntimeException {
        Fault() {
            super(null, null, false, false);
        }
    }

    static void caught() {
        LEAVES.incrementAndGet();
    }

    static final Object SHARED = new Object();

    /** Leaves the carrier, in one of four ways. */
    static void leaves(int round) {
        switch (round % 4) {
            case 0:
                LockSupport.parkNanos(100_000);
                break;
            case 1:
                Thread.yield();
                break;
            case 2:
                synchronized (SHARED) {
                    LEAVES.incrementAndGet();
                }
                break;
            default:
                try {
                    Thread.sleep(1);
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
        }
    }

    // The judge calls these.

    static double mix(int a, double b, long c, String d, float e, int f, int g, double h) {
        return a + b + c + d.length() + e + f + g + h;
    }

    static Thread current() {
        return Thread.currentThread();
    }

    static void nap() {
        LockSupport.parkNanos(100_000);
    }

    // Dumps

    static class Held {}

    static class Condition {}

    static class Local {
        boolean isSeen;
    }

    static final Held HELD = new Held();
    static final Condition CONDITION = new Condition();
    static volatile boolean isHeld, isWaiting, isParked, isOver;

    static class Holder implements Runnable {
        @Override
        public void run() {
            synchronized (HELD) {
                isHeld = true;
                park();
            }
        }
    }

    static class Blocked implements Runnable {
        @Override
        public void run() {
            synchronized (HELD) {
                LEAVES.incrementAndGet();
            }
        }
    }

    static class Waiter implements Runnable {
        @Override
        public void run() {
            synchronized (CONDITION) {
                isWaiting = true;
                while (!isOver) {
                    try {
                        CONDITION.wait();
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                }
            }
        }
    }

    static class Parked implements Runnable {
        @Override
        public void run() {
            Local local = new Local();
            isParked = true;
            park();
            local.isSeen = true;
        }
    }

    static void park() {
        while (!isOver) {
            LockSupport.park();
        }
    }

    /** Up to three carriers may be blocked together with their virtual threads. */
    static void dumps() throws Exception {
        Thread holder = start("virtual-holder", new Holder());
        await(holder, Thread.State.WAITING);
        Thread blocked = start("virtual-blocked", new Blocked());
        await(blocked, Thread.State.BLOCKED);
        Thread waiter = start("virtual-waiter", new Waiter());
        await(waiter, Thread.State.WAITING);
        Thread parked = start("virtual-parked", new Parked());
        await(parked, Thread.State.WAITING);
        dumped();
        isOver = true;
        LockSupport.unpark(holder);
        LockSupport.unpark(parked);
        synchronized (CONDITION) {
            CONDITION.notifyAll();
        }
        join(holder, blocked, waiter, parked);
    }

    static void await(Thread thread, Thread.State state) throws InterruptedException {
        while (thread.getState() != state) {
            Thread.sleep(1);
        }
    }

    /** The judge dumps monitors and the heap when this is called. */
    static void dumped() {
        LEAVES.incrementAndGet();
    }

    static void edge(String caller, String callee, int count) {
        System.out.println("edge JudgedVirtual" + caller + " > JudgedVirtual" + callee + " " + count);
    }
}
