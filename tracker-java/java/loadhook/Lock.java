package loadhook;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The registry's lock. A thread that cannot get the lock in time continues without it. A debugger
 * may have suspended the thread that holds the lock, and neither the program nor its end may wait
 * for that thread. With a monitor they would wait for ever.
 *
 * A thread that takes the lock writes a ticket: a running number, and the thread's id. The lock is
 * free if the ticket taken last was also given back last. Giving a ticket back contains no call,
 * where a StackOverflowError could occur, and no jump, where the exception of {@code Thread.stop}
 * could occur. That exception can also occur right after the lock was taken, before the caller has
 * the ticket. The ticket's thread id then shows which thread has the lock:
 *
 * <pre>
 * long ticket = 0;
 * try {
 *     ticket = Lock.take(thread);
 *     if (ticket != 0) …
 * } finally {
 *     if (ticket != 0) {
 *         Lock.holder = null;
 *         Lock.given = ticket;
 *     } else {
 *         Lock.giveBack(thread);
 *     }
 * }
 * </pre>
 */
final class Lock {
    /** Attempts before the first pause. Most of the time the lock is held for less than a microsecond. */
    private static final int SPINS = 200;
    /**
     * The number of pauses before a thread continues without the lock. The first hundred only let
     * other threads run, later ones take a millisecond each; together they take longer than merging
     * the largest tree on an overloaded machine. This is no time limit, because the whole JVM may
     * be stopped for any time.
     */
    private static final int NAPS = 10000;

    /** The bits of a ticket that hold the thread's id; the running number is above them. */
    private static final long ID = (1L << 40) - 1;

    private static final AtomicLong TAKEN = new AtomicLong();
    /** The ticket given back last; written by the holder. */
    static volatile long given;

    /** The thread that has the lock. Its probes do nothing meanwhile. */
    static volatile Thread holder;

    /**
     * Set when a thread has waited in vain, so that other threads do not wait
     * at all. Cleared when the lock is taken again.
     */
    private static volatile boolean stuck;

    /** The way to pause. It is null with an agent, which has a native method for pausing. */
    static Backoff backoff;

    private Lock() {
    }

    /**
     * Takes the lock, and waits for it if necessary. Returns the ticket with which to give the lock back, or 0 if
     * the lock was not available in time.
     */
    static long take(Thread thread) {
        int tries = 0;
        long before = given;
        long ticket;
        while ((ticket = tryTake(thread)) == 0) {
            if (tries == 0) {
                // Two exceptions in a row may have kept this thread from giving
                // back an earlier ticket.
                giveBack(thread);
            }
            if (stuck) {
                return 0;
            }
            long now = given;
            if (now != before) {
                // The ticket changes, so other threads get the lock in turn:
                // the lock is not stuck.
                before = now;
                tries = 0;
            }
            if (tries >= SPINS) {
                backOff(tries - SPINS);
            }
            if (++tries == SPINS + NAPS) {
                stuck = true;
                return 0;
            }
        }
        holder = thread;
        if (stuck) {
            stuck = false;
        }
        return ticket;
    }

    /** Takes the lock if it is free. */
    private static long tryTake(Thread thread) {
        long given = Lock.given;
        long ticket = (given & ~ID) + ID + 1 | Ids.of(thread) & ID;
        return TAKEN.compareAndSet(given, ticket) ? ticket : 0;
    }

    /** Gives the lock back if the thread holds it without having its ticket. This needs unique thread ids. */
    static void giveBack(Thread thread) {
        long taken = TAKEN.get();
        if (taken != given && (taken & ID) == (Ids.of(thread) & ID) && Ids.areKnown()) {
            holder = null;
            given = taken;
        }
    }

    /**
     * Pauses. With an agent, {@code Thread.yield()} is not used: it may be instrumented, and the
     * thread is not marked yet.
     */
    static void backOff(int before) {
        Backoff backoff = Lock.backoff;
        if (backoff != null) {
            backoff.pause(before);
            return;
        }
        try {
            Tracker.nap(before);
        } catch (UnsatisfiedLinkError error) {
            // In tests there is neither an agent nor a backoff.
        }
    }
}
