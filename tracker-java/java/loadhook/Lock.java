package loadhook;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The registry's lock. Who cannot have it in a while goes without: a debugger may have suspended the thread that holds it,
 * and neither the program nor its end may wait for that. Hence no monitor, at which one waits for ever.
 *
 * Who takes it writes a ticket: a running number, and the thread's id. It is free while the ticket taken last is the one given
 * back last. Giving it back is no call, since a StackOverflowError could strike there, and takes no jump, since what
 * {@code Thread.stop} throws could strike there. That can also strike where the lock is had and the caller does not know it
 * yet; the ticket tells whose it is, then:
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
    /** Short of naps: it is held for less than a microsecond most of the time. */
    private static final int SPINS = 200;
    /**
     * The first hundred only let other threads run, later ones take a millisecond each. Not a time, since a JVM may be
     * stopped as a whole. Longer than the largest tree takes to be merged on a machine that is overloaded.
     */
    private static final int NAPS = 10000;

    /** The bits of a ticket that are the thread's id; the number is above them. */
    private static final long ID = (1L << 40) - 1;

    private static final AtomicLong TAKEN = new AtomicLong();
    /** Written by the holder. */
    static volatile long given;

    /** The thread that has it: probes that it meets meanwhile do nothing. */
    static volatile Thread holder;

    /** Whether somebody has waited in vain, so that nobody else does; until the lock is had again. */
    private static volatile boolean stuck;

    /** Null with an agent, which has a native method for that. */
    static Backoff backoff;

    private Lock() {
    }

    /** Waits for the lock if need be; the ticket to give it back with, or 0 if it is not to be had. */
    static long take(Thread thread) {
        int tries = 0;
        long before = given;
        long ticket;
        while ((ticket = tryTake(thread)) == 0) {
            if (tries == 0) {
                // An exception that struck twice may have kept this thread from it.
                giveBack(thread);
            }
            if (stuck) {
                return 0;
            }
            long now = given;
            if (now != before) {
                // It goes from hand to hand, only not to this one.
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

    /** Gives back what the thread has without knowing it, as far as threads can be told by their ids. */
    static void giveBack(Thread thread) {
        long taken = TAKEN.get();
        if (taken != given && (taken & ID) == (Ids.of(thread) & ID) && Ids.areKnown()) {
            holder = null;
            given = taken;
        }
    }

    /** Not by {@code Thread.yield()} where the JDK may be instrumented: the thread is not marked yet. */
    static void backOff(int before) {
        Backoff backoff = Lock.backoff;
        if (backoff != null) {
            backoff.pause(before);
            return;
        }
        try {
            Tracker.nap(before);
        } catch (UnsatisfiedLinkError error) {
            // In tests there is neither.
        }
    }
}
