package loadhook;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * The registry's lock. Who cannot have it in a while goes without: a debugger may have suspended the thread that holds it,
 * and neither the program nor its end may wait for that. Hence no monitor, at which one waits for ever.
 *
 * It is free while as often given back as taken. Giving it back is no call, since a StackOverflowError could strike there:
 * {@code Lock.holder = null; Lock.given++;}
 */
final class Lock {
    /** Short of naps: it is held for less than a microsecond most of the time. */
    private static final int SPINS = 200;
    /**
     * The first hundred only let other threads run, later ones take a millisecond each. Not a time, since a JVM may be
     * stopped as a whole. Longer than the largest tree takes to be merged on a machine that is overloaded.
     */
    private static final int NAPS = 10000;

    private static final AtomicInteger TAKEN = new AtomicInteger();
    /** Written by the holder. */
    static volatile int given;

    /** The thread that has it: probes that it meets meanwhile do nothing. */
    static volatile Thread holder;

    /** Whether somebody has waited in vain, so that nobody else does; until the lock is had again. */
    private static volatile boolean stuck;

    /** Null with an agent, which has a native method for that. */
    static Nap nap;

    private Lock() {
    }

    /** Waits for the lock if need be; false if it is not to be had. */
    static boolean take(Thread thread) {
        int tries = 0;
        int before = given;
        while (!isFree()) {
            if (stuck) {
                return false;
            }
            int now = given;
            if (now != before) {
                // It goes from hand to hand, only not to this one.
                before = now;
                tries = 0;
            }
            if (tries >= SPINS) {
                nap(tries - SPINS);
            }
            if (++tries == SPINS + NAPS) {
                stuck = true;
                return false;
            }
        }
        holder = thread;
        if (stuck) {
            stuck = false;
        }
        return true;
    }

    /** Takes the lock if it is free. */
    private static boolean isFree() {
        int given = Lock.given;
        return TAKEN.compareAndSet(given, given + 1);
    }

    /** Not by {@code Thread.yield()} where the JDK may be instrumented: the thread is not marked yet. */
    static void nap(int before) {
        Nap nap = Lock.nap;
        if (nap != null) {
            nap.take(before);
            return;
        }
        try {
            Tracker.nap(before);
        } catch (UnsatisfiedLinkError error) {
            // In tests there is neither.
        }
    }
}
