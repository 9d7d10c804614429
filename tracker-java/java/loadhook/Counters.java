package loadhook;

import java.lang.ref.WeakReference;

/**
 * Counts calls by method alone, for code that has no probe but {@link Tracker#count}. Also counts, for
 * each platform thread, the timed calls of its paths by method and duration.
 *
 * The counts are exact without atomic operations, because each platform thread has its own counts. A virtual thread
 * counts on its carrier: it cannot be moved between the load and the store of an increment. Calls for which a thread
 * has no room, and those of virtual threads whose carrier is unknown, are counted in the sum of the ended threads,
 * with the registry's lock held.
 *
 * The rules of {@link Threads} hold here, too. Nothing relies on methods that a program can override. JDK methods
 * that may be instrumented are called only while the thread is marked, either by the lock or by the first element
 * of the thread's array.
 */
final class Counters {
    static final int SLOTS = 4096;

    /** The arrays of {@link MethodCalls} by thread id, which the probe reads. No element is null. */
    static final long[][] CACHE = new long[SLOTS][];

    /** Number of method ids for which a thread's array has room at first, and at most. */
    private static final int FEW = 1 << 10;
    private static final int MANY = 1 << 16;
    /**
     * The share of the heap that the arrays of all threads together may take,
     * roughly: the heap's size is shifted right by this.
     */
    private static final int SHARE_OF_HEAP = 4;
    private static final int MOST_POOLED = 64;
    private static final long MOST_MEMORY = Runtime.getRuntime().maxMemory();

    private static final long[] NOBODYS = {MethodCalls.NOBODY};

    private static MethodCalls[] chains = new MethodCalls[64];
    private static int live;
    /** True if any thread has counted a call. */
    private static boolean isUsed;
    /** The number of live threads at which the next search for ended threads starts. */
    private static int sweepAt = 64;
    private static MethodCalls pool;
    private static int pooled;
    /** The calls of ended threads, and of threads for whose own arrays there was no room. */
    private static MethodCalls sum = newSum();

    static {
        // Local variables: until a class is initialised, the interpreter resolves its static fields anew at each access, which
        // takes about a microsecond.
        long[][] cache = CACHE;
        long[] nobodys = NOBODYS;
        for (int slot = 0; slot < SLOTS; slot++) {
            cache[slot] = nobodys;
        }
    }

    private Counters() {
    }

    /**
     * Initialises the classes in advance. A probe must not do it: an initialisation that fails at the end of the
     * stack fails for good.
     */
    static void rehearse() {
        Carrier.current();
        new MethodCalls(1).count(0);
    }

    /**
     * Makes a sum without calls. The sum has places for all methods of a stripe, so that adding an ended thread needs
     * no memory.
     */
    private static MethodCalls newSum() {
        return new MethodCalls(Stripes.LENGTH > 2 * FEW ? Stripes.LENGTH : 2 * FEW);
    }

    /**
     * Prepares the counting for a thread that begins. If its first probe did so, the JIT would see that this rare
     * path is taken, and would compile a call for it into each probe; after that call, the compiled code must load
     * all values again. A thread for which there is no stripe would gain nothing. Such a thread gets its array at its
     * first call.
     */
    static void begin(Thread thread) {
        if (!Ids.isVirtual(thread) && !Threads.isOurs(thread) && Stripes.free(thread) >= 0 && chained(thread) == null) {
            register(Thread.currentThread(), thread);
        }
    }

    private static int slot(long id) {
        return (int) id & SLOTS - 1;
    }

    /**
     * Counts a call that {@link Tracker#count} did not count, in the stripe or the array of the current thread's
     * carrier.
     */
    static void countOnCarrier(int method) {
        Thread carrier = Carrier.current();
        long id = Ids.of(carrier);
        int stripe = (int) id & Stripes.MASK;
        if (method < Stripes.LENGTH && Stripes.OWNERS[stripe] == carrier) {
            Stripes.CALLS[(stripe << Stripes.BITS) + method]++;
            return;
        }
        int at = method + MethodCalls.FIRST;
        long[] calls = CACHE[(int) id & SLOTS - 1];
        if (at < calls.length && calls[0] == id) {
            calls[at]++;
            return;
        }
        countSlowly(method);
    }

    /** Counts a call if the carrier's array is not in the cache, or has no place for the method. */
    static void countSlowly(int method) {
        Thread thread = Thread.currentThread();
        if (Threads.isOurs(thread) || Threads.isInside(thread) || !Threads.isComplete(thread)) {
            return;
        }
        Thread carrier = Carrier.current();
        MethodCalls counts = ofCarrier(thread, carrier);
        if (counts != null && counts.stripe >= 0 && method < Stripes.LENGTH) {
            Stripes.CALLS[(counts.stripe << Stripes.BITS) + method]++;
            // A StackOverflowError may have kept comeBack from writing the owner.
            Stripes.OWNERS[counts.stripe] = carrier;
            return;
        }
        if (counts == null || !counts.count(method) && !(makePlace(thread, counts, method) && counts.count(method))) {
            countInSum(thread, method);
        } else if ((counts.misses++ & 15) == 0) {
            // Takes the slot only at some misses, so that two threads with the
            // same slot do not take it from each other at every probe.
            counts.calls[0] = Ids.owner(carrier);
            CACHE[slot(counts.id)] = counts.calls;
        }
    }

    /**
     * Searches the chain of a platform thread for its calls; returns null if there are none. Without the lock,
     * the search may miss a thread that is there.
     */
    private static MethodCalls chained(Thread carrier) {
        MethodCalls[] chains = Counters.chains;
        long id = Ids.of(carrier);
        MethodCalls counts = chains[(int) id & chains.length - 1];
        while (counts != null && (counts.id != id || counts.held != null && counts.held != carrier)) {
            counts = counts.next;
        }
        return counts;
    }

    /**
     * Makes a place for a method in the calls of the current thread. Returns whether there was
     * room.
     */
    private static boolean makePlace(Thread thread, MethodCalls counts, int method) {
        int ids = counts.ids() < FEW ? FEW : 2 * counts.ids();
        while (ids <= method && ids < MANY) {
            ids <<= 1;
        }
        if (method >= MANY || 8L * ids * (live + 8) > MOST_MEMORY >> SHARE_OF_HEAP) {
            return counts.makePage(method);
        }
        if (!counts.lengthen(ids)) {
            return false;
        }
        CACHE[slot(counts.id)] = counts.calls;
        // The sum gets twice the room that is needed now, so that it can still
        // count when the heap is full.
        if (sum.ids() < 2 * ids) {
            lengthenSum(thread, 2 * ids);
        }
        return true;
    }

    private static void lengthenSum(Thread thread, int ids) {
        long ticket = 0;
        try {
            ticket = Lock.take(thread);
            if (ticket != 0 && sum.ids() < ids) {
                sum.lengthen(ids);
            }
        } finally {
            if (ticket != 0) {
                Lock.holder = null;
                Lock.given = ticket;
            } else {
                Lock.giveBack(thread);
            }
        }
    }

    /** Counts a call for which the thread's array has no place. */
    private static void countInSum(Thread thread, int method) {
        boolean counted = false;
        long ticket = 0;
        try {
            ticket = Lock.take(thread);
            if (ticket != 0) {
                counted = sum.count(method) || sum.makePage(method) && sum.count(method);
            }
        } finally {
            if (ticket != 0) {
                Lock.holder = null;
                Lock.given = ticket;
            } else {
                Lock.giveBack(thread);
            }
        }
        if (!counted) {
            Threads.overflowed();
        }
    }

    /** Finds or makes the counts of the current thread's carrier. Returns null if there is no room. */
    static MethodCalls ofCarrier(Thread thread, Thread carrier) {
        MethodCalls counts = chained(carrier);
        return counts == null ? register(thread, carrier) : counts;
    }

    private static MethodCalls register(Thread thread, Thread carrier) {
        if (Ids.isVirtual(carrier) || !Budget.hasRoomForPath()) {
            return null;
        }
        long ticket = 0;
        try {
            ticket = Lock.take(thread);
            return ticket == 0 ? null : registered(carrier);
        } catch (OutOfMemoryError error) {
            return null;
        } finally {
            if (ticket != 0) {
                Lock.holder = null;
                Lock.given = ticket;
            } else {
                Lock.giveBack(thread);
            }
        }
    }

    @Guarded
    private static MethodCalls registered(Thread carrier) {
        MethodCalls known = chained(carrier);
        if (known != null || Tracker.isOff) {
            return known;
        }
        if (live >= sweepAt) {
            sweep(carrier);
            sweepAt = Math.max(64, 2 * live);
        }
        if (live > chains.length && Budget.hasRoom(8L * chains.length)) {
            spread(new MethodCalls[2 * chains.length]);
        }
        WeakReference<Thread> weakly = new WeakReference<Thread>(carrier);
        long owner = Ids.owner(carrier);
        long id = Ids.of(carrier);
        int chain = (int) id & chains.length - 1;
        MethodCalls counts = pool;
        int stripe = Stripes.free(carrier);
        if (counts == null) {
            counts = new MethodCalls(stripe < 0 ? FEW : 0);
        } else {
            pool = counts.next;
            pooled--;
        }
        counts.misses = 0;
        counts.id = id;
        counts.thread = weakly;
        counts.held = Ids.areKnown() ? null : carrier;
        counts.calls[0] = owner;
        counts.next = chains[chain];
        // No method may be called from here on: a stripe whose counts are in no chain would lose its calls.
        counts.stripe = stripe;
        chains[chain] = counts;
        if (stripe >= 0) {
            Stripes.TAKEN[stripe] = true;
            Stripes.OWNERS[stripe] = carrier;
        }
        live++;
        isUsed = true;
        return counts;
    }

    private static void spread(MethodCalls[] wider) {
        MethodCalls[] before = chains;
        for (int chain = 0; chain < before.length; chain++) {
            for (MethodCalls counts = before[chain]; counts != null;) {
                MethodCalls next = counts.next;
                int to = (int) counts.id & wider.length - 1;
                counts.next = wider[to];
                wider[to] = counts;
                counts = next;
            }
        }
        chains = wider;
    }

    /**
     * Adds the calls of a thread that ends to the sum. If the lock is not
     * available, the next {@link #sweep} does it.
     */
    static void end(Thread thread) {
        if (Ids.isVirtual(thread)) {
            return;
        }
        Thread current = Thread.currentThread();
        long ticket = 0;
        try {
            ticket = Lock.take(current);
            MethodCalls counts = ticket == 0 ? null : chained(thread);
            if (counts != null) {
                end(counts);
            }
        } finally {
            if (ticket != 0) {
                Lock.holder = null;
                Lock.given = ticket;
            } else {
                Lock.giveBack(current);
            }
        }
    }

    /** Ends the counting of threads that have ended. */
    private static void sweep(Thread current) {
        for (int chain = 0; chain < chains.length; chain++) {
            for (MethodCalls counts = chains[chain]; counts != null;) {
                MethodCalls next = counts.next;
                Thread thread = counts.thread();
                if (thread != current && (thread == null || !thread.isAlive())) {
                    end(counts);
                }
                counts = next;
            }
        }
    }

    private static void end(MethodCalls counts) {
        int slot = slot(counts.id);
        if (CACHE[slot] == counts.calls) {
            CACHE[slot] = NOBODYS;
        }
        // If an exception interrupts this call, the thread stays in its chain
        // with the calls that are not yet added.
        sum.take(counts);
        MethodCalls[] chains = Counters.chains;
        int chain = (int) counts.id & chains.length - 1;
        MethodCalls before = null;
        for (MethodCalls at = chains[chain]; at != counts; at = at.next) {
            before = at;
        }
        if (before == null) {
            chains[chain] = counts.next;
        } else {
            before.next = counts.next;
        }
        live--;
        counts.thread = null;
        counts.held = null;
        counts.next = null;
        if (pooled < MOST_POOLED) {
            counts.next = pool;
            pool = counts;
            pooled++;
        }
    }

    /** Drops all counts. Called when the agent has left. */
    static void forget() {
        Thread current = Thread.currentThread();
        long ticket = 0;
        try {
            ticket = Lock.take(current);
            Stripes.clear();
            for (int slot = 0; slot < SLOTS; slot++) {
                CACHE[slot] = NOBODYS;
            }
            live = 0;
            isUsed = false;
            sweepAt = 64;
            pool = null;
            pooled = 0;
            // The heap may be full, so nothing large is allocated.
            sum.clear();
            chains = new MethodCalls[64];
        } finally {
            if (ticket != 0) {
                Lock.holder = null;
                Lock.given = ticket;
            } else {
                Lock.giveBack(current);
            }
        }
    }

    // The methods below serve snapshots.

    /**
     * Marks the current thread, which reads a snapshot or is in slow code of its path. The thread's probes do
     * nothing until {@link #comeBack}.
     */
    static void leave() {
        Thread carrier = Carrier.current();
        MethodCalls own = chained(carrier);
        if (own != null) {
            own.calls[0] = MethodCalls.NOBODY;
            if (own.stripe >= 0) {
                Stripes.OWNERS[own.stripe] = null;
            }
        }
    }

    static void comeBack() {
        Thread carrier = Carrier.current();
        MethodCalls own = chained(carrier);
        if (own != null) {
            own.calls[0] = Ids.owner(carrier);
            if (own.stripe >= 0) {
                Stripes.OWNERS[own.stripe] = carrier;
            }
        }
    }

    /**
     * Returns the calls of all threads so far, or null if the lock is not available.
     *
     * @param withLatencies true to add up the durations of timed calls, too
     */
    static MethodCalls all(boolean withLatencies) {
        Thread current = Thread.currentThread();
        long ticket = 0;
        try {
            ticket = Lock.take(current);
            return ticket == 0 ? null : added(withLatencies);
        } finally {
            if (ticket != 0) {
                Lock.holder = null;
                Lock.given = ticket;
            } else {
                Lock.giveBack(current);
            }
        }
    }

    private static MethodCalls added(boolean withLatencies) {
        sweep(Carrier.current());
        int end = sum.end();
        for (int chain = 0; chain < chains.length; chain++) {
            for (MethodCalls counts = chains[chain]; counts != null; counts = counts.next) {
                end = Math.max(end, counts.end());
            }
        }
        MethodCalls all = new MethodCalls(end);
        all.add(sum, withLatencies);
        for (int chain = 0; chain < chains.length; chain++) {
            for (MethodCalls counts = chains[chain]; counts != null; counts = counts.next) {
                all.add(counts, withLatencies);
            }
        }
        return all;
    }

    /**
     * Returns the bytes of all arrays of counts, 0 before the first counted call. If the lock is not available,
     * returns only the bytes of the sum over ended threads.
     */
    static long bytes() {
        if (!isUsed) {
            return 0;
        }
        long bytes = 4L * (SLOTS + chains.length) + sum.bytes() + Stripes.bytes();
        Thread current = Thread.currentThread();
        long ticket = 0;
        try {
            ticket = Lock.take(current);
            for (int chain = 0; ticket != 0 && chain < chains.length; chain++) {
                for (MethodCalls counts = chains[chain]; counts != null; counts = counts.next) {
                    bytes += counts.bytes();
                }
            }
            for (MethodCalls counts = ticket == 0 ? null : pool; counts != null; counts = counts.next) {
                bytes += counts.bytes();
            }
            return bytes;
        } finally {
            if (ticket != 0) {
                Lock.holder = null;
                Lock.given = ticket;
            } else {
                Lock.giveBack(current);
            }
        }
    }
}
