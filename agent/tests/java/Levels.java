import java.util.ArrayList;
import java.util.List;

/**
 * Calls short methods on many threads for some time, and counts the calls itself. Prints a line for each method: its
 * name and its calls. Probes of these methods cost more than any budget allows, so the agent removes them while calls
 * are under way.
 *
 * <pre>Levels MILLIS PLATFORM_THREADS VIRTUAL_THREADS</pre>
 */
public final class Levels {
    static final class Enough extends RuntimeException {
        Enough() {
            super(null, null, false, false);
        }
    }

    static final Enough ENOUGH = new Enough();

    /** A thread's own counts. Only the thread itself writes them. */
    static final class Tally {
        long leaf;
        long recurse;
        long mutual;
        long throwing;
        long catching;
        long base;
        long derived;
        long make;
        long locked;
        long alone;
        long deep;
        long round;
        long after;
        long work;
    }

    static class Base {
        final int value;

        Base(Tally tally, boolean fails) {
            tally.base++;
            if (fails) {
                throw ENOUGH;
            }
            value = 1;
        }
    }

    static final class Derived extends Base {
        Derived(Tally tally, boolean fails) {
            super(tally, fails);
            leaf(tally);
        }
    }

    private final Object lock = new Object();
    private int shared;

    static int leaf(Tally tally) {
        tally.leaf++;
        return 1;
    }

    static int recurse(Tally tally, int n) {
        tally.recurse++;
        return n == 0 ? leaf(tally) : recurse(tally, n - 1) + mutual(tally, n - 1);
    }

    static int mutual(Tally tally, int n) {
        tally.mutual++;
        return n <= 0 ? 0 : recurse(tally, n / 2);
    }

    static int throwing(Tally tally, int n) {
        tally.throwing++;
        if (n == 0) {
            throw ENOUGH;
        }
        return throwing(tally, n - 1) + 1;
    }

    static int catching(Tally tally, int n) {
        tally.catching++;
        try {
            return throwing(tally, n);
        } catch (Enough enough) {
            return leaf(tally);
        }
    }

    static int make(Tally tally, boolean fails) {
        tally.make++;
        tally.derived++;
        try {
            return new Derived(tally, fails).value;
        } catch (Enough enough) {
            return leaf(tally);
        }
    }

    synchronized int locked(Tally tally) {
        tally.locked++;
        shared++;
        return leaf(tally);
    }

    static int alone(Tally tally, Levels of) {
        tally.alone++;
        synchronized (of.lock) {
            return leaf(tally);
        }
    }

    /** Recurses. At the end, returns if {@code end} is 0; otherwise makes short calls until {@code end}, and throws. */
    int deep(Tally tally, int depth, long end) {
        tally.deep++;
        if (depth > 0) {
            return deep(tally, depth - 1, end) + 1;
        }
        if (end == 0) {
            return leaf(tally);
        }
        boolean isVirtual = !Thread.currentThread().getName().startsWith("platform");
        for (int n = 0; System.nanoTime() < end; n++) {
            round(tally, n);
            if (isVirtual && n % 8 == 0) {
                Thread.yield();
            }
        }
        throw ENOUGH;
    }

    int round(Tally tally, int n) {
        tally.round++;
        int sum = recurse(tally, 6) + catching(tally, n & 7) + make(tally, n % 3 == 0);
        sum += locked(tally) + alone(tally, this) + deep(tally, 5, 0);
        for (int i = 0; i < 50; i++) {
            sum += leaf(tally);
        }
        return sum;
    }

    static void after(Tally tally) {
        tally.after++;
        leaf(tally);
    }

    void work(Tally tally, long end) {
        tally.work++;
        try {
            deep(tally, 20, end);
        } catch (Enough enough) {
            after(tally);
        }
        after(tally);
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + Integer.parseInt(args[0]) * 1000000L;
        Levels levels = new Levels();
        List<Tally> tallies = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        int platform = Integer.parseInt(args[1]);
        int virtual = Integer.parseInt(args[2]);
        for (int i = 0; i < platform + virtual; i++) {
            Tally tally = new Tally();
            tallies.add(tally);
            Runnable work = () -> levels.work(tally, end);
            if (i < platform) {
                Thread thread = new Thread(work, "platform-" + i);
                thread.start();
                threads.add(thread);
            } else {
                threads.add((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work));
            }
        }
        for (Thread thread : threads) {
            thread.join();
        }
        for (java.lang.reflect.Field field : Tally.class.getDeclaredFields()) {
            long sum = 0;
            for (Tally tally : tallies) {
                sum += field.getLong(tally);
            }
            System.out.println(field.getName() + " " + sum);
        }
    }
}
