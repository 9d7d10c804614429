package loadhook;

import java.lang.ref.WeakReference;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Finds a thread's path, and keeps the paths of all threads.
 *
 * Nothing here calls a method that a program can override. Nothing trusts thread locals, which a program can
 * erase. A thread's id leads to its slot in the cache and to its chain in the registry.
 *
 * The JDK itself may be instrumented, except for the methods that the search for a path calls (the
 * agent's tests compute them). Around all other calls the thread is marked, so that probes in the
 * callees do nothing.
 */
final class Threads {
    static final int SLOTS = 4096;

    /**
     * The cache in which most probes find their path. Every element is a path,
     * so probes need no check for null.
     */
    static final Path[] CACHE = new Path[SLOTS];

    /** The size of a new path of a virtual thread, roughly. */
    private static final int VIRTUAL_BYTES = 1 << 10;
    /**
     * Limits searches for ended threads: the next one needs at least as many refused calls as there are live
     * paths divided by this.
     */
    private static final int PATIENCE = 32;

    /** The thread that reads a snapshot. Its probes do nothing meanwhile. */
    private static volatile Thread reader;

    private static Path[] chains = new Path[256];
    private static int live;
    /** The approximate number of calls of virtual threads that got no path since the last search for ended threads. */
    private static int refused;
    /** The number of live paths at which the next search for ended threads starts. */
    private static int sweepAt = 256;
    private static volatile boolean snapshot;
    private static final AtomicLong UNTRACKED = new AtomicLong();
    private static final AtomicLong LOST = new AtomicLong();
    /**
     * A part of the seeds of random numbers. It changes with each new path, so two threads that begin at the same
     * time get different numbers. A test sets it to get the same numbers in each run.
     */
    static long seed;

    static final Path NOBODYS = new Path(Timing.COUNT, 2, 1, 1);
    /** A placeholder in front of the first path of a chain while a path is removed from the chain. */
    private static final Path HEAD = new Path(Timing.COUNT, 2, 1, 1);

    static {
        // Local variables: until a class is initialised, the interpreter resolves its static fields anew at each access, which
        // takes about a microsecond.
        Path[] cache = CACHE;
        Path nobodys = NOBODYS;
        for (int slot = 0; slot < SLOTS; slot++) {
            cache[slot] = nobodys;
        }
    }

    private Threads() {
    }

    static int slot(long id) {
        return (int) id & SLOTS - 1;
    }

    /**
     * Finds or makes the path of the current thread, if the cache does not contain it. Returns null if the thread
     * may not have a path now.
     */
    static Path find(Thread thread) {
        if (isOurs(thread)) {
            return null;
        }
        Path path = chained(thread);
        if (path == null) {
            path = register(thread);
        }
        if (path == null || path.owner == Path.NOBODY) {
            return null;
        }
        // If two threads share a slot, they must not take it from each other at every probe.
        if ((path.misses++ & 15) == 0) {
            CACHE[slot(path.id)] = path;
        }
        return path;
    }

    /** Counts a call that has no path, unless the tracker itself made the call. */
    static void missed(Thread thread) {
        if (isMissed(thread)) {
            UNTRACKED.getAndIncrement();
        }
    }

    /** Counts a call for which a path had no room. */
    static void overflowed() {
        UNTRACKED.getAndIncrement();
    }

    /** Counts an allocation for which there is no path. */
    static void lost(Thread thread) {
        if (isMissed(thread)) {
            LOST.getAndIncrement();
        }
    }

    private static boolean isMissed(Thread thread) {
        return !isOurs(thread) && chained(thread) == null && isComplete(thread);
    }

    /**
     * Returns whether the thread is running the tracker's own code, so that probes must do nothing. Also true
     * when the agent has left, because no probe does anything then.
     */
    static boolean isOurs(Thread thread) {
        return Lock.holder == thread || reader == thread || Tracker.isOff;
    }

    /** Returns whether a thread is in slow code of the tracker, which may call methods of the JDK. */
    static boolean isInside(Thread thread) {
        Path path = chained(thread);
        return path != null && path.owner == Path.NOBODY;
    }

    /** Searches a thread's chain for its path; null if not found. Without the lock, the search may miss a path. */
    private static Path chained(Thread thread) {
        Path[] chains = Threads.chains;
        long id = Ids.of(thread);
        Path path = chains[(int) id & chains.length - 1];
        while (path != null && (path.id != id || path.held != null && path.held != thread)) {
            path = path.next;
        }
        return path;
    }

    private static Path register(Thread thread) {
        if (!isComplete(thread)) {
            return null;
        }
        // This check needs no lock. With the lock, all threads without a path
        // would queue for it at each call.
        if (isTooMany(Ids.isVirtual(thread)) && ++refused <= live / PATIENCE) {
            return null;
        }
        Path path = register(thread, null);
        if (path == null) {
            // Making a path takes long, so it happens without the lock. Otherwise virtual threads would queue for
            // the lock.
            Path made = make(Ids.isVirtual(thread));
            if (made != null) {
                path = register(thread, made);
            }
        }
        // Only a new path lacks its start time.
        if (path != null && path.cpuBegan == CpuTime.UNKNOWN) {
            path.cpuBegan = CpuTime.of(thread);
        }
        return path;
    }

    /**
     * Returns the thread's path. If the thread has none, registers the new path {@code made} for it, or a path of
     * the pool if {@code made} is null. Returns null if the lock is not available.
     */
    private static Path register(Thread thread, Path made) {
        long ticket = 0;
        try {
            ticket = Lock.take(thread);
            return ticket == 0 ? null : registered(thread, made);
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
    private static Path registered(Thread thread, Path made) {
        Path path = chained(thread);
        return path != null || Tracker.isOff ? path : add(thread, made);
    }

    /**
     * Makes a path. The paths of virtual threads begin small, because there are very many of them and they are
     * shallow.
     */
    private static Path make(boolean virtual) {
        if (!Budget.hasRoomForPath() || isTooMany(virtual)) {
            return null;
        }
        long seed = System.nanoTime() ^ Threads.seed;
        try {
            return virtual ? new Path(Timing.paths, 5, 3, seed) : new PaddedPath(Timing.paths, 32, 64, seed);
        } catch (OutOfMemoryError error) {
            return null;
        }
    }

    /**
     * Returns whether a path is for a virtual thread, while the paths of virtual threads hold as much memory as
     * they may.
     */
    private static boolean isTooMany(boolean virtual) {
        return virtual && !Budget.hasRoomForVirtual(VIRTUAL_BYTES);
    }

    /** Returns whether a thread has its id already. A thread that attaches runs its own constructor, with probes. */
    static boolean isComplete(Thread thread) {
        return Ids.of(thread) != 0;
    }

    private static Path add(Thread thread, Path made) {
        boolean virtual = Ids.isVirtual(thread);
        // Some threads may have ended without a report.
        if (live >= sweepAt || isTooMany(virtual)) {
            refused = 0;
            sweep(thread);
            sweepAt = Math.max(256, 2 * live);
        }
        if (live > chains.length && Budget.hasRoom(8L * chains.length)) {
            spread(new Path[2 * chains.length]);
        }
        if (made == null && (EndedPaths.pool == null || !Budget.hasRoomForPath())) {
            return null;
        }
        WeakReference<Thread> weakly = new WeakReference<Thread>(thread);
        String name = thread.getName();
        long owner = Ids.owner(thread);
        long id = Ids.of(thread);
        int chain = (int) id & chains.length - 1;
        Path path = made;
        if (path == null) {
            path = EndedPaths.pool;
            EndedPaths.pool = path.next;
            EndedPaths.pooled--;
        }
        path.virtual = virtual;
        path.setMode(virtual && Clock.kind == Clock.CPU ? Timing.COUNT : Timing.paths);
        path.misses = 0;
        seed += 0x9E3779B97F4A7C15L;
        path.id = id;
        path.thread = weakly;
        path.held = Interpreted.isUsed() && !virtual || !Ids.areKnown() ? thread : null;
        path.name = name;
        path.cpuBegan = CpuTime.UNKNOWN;
        path.cpuSpent = CpuTime.UNKNOWN;
        path.owner = owner;
        path.next = chains[chain];
        chains[chain] = path;
        live++;
        path.grown();
        return path;
    }

    private static void spread(Path[] wider) {
        Path[] before = chains;
        for (int chain = 0; chain < before.length; chain++) {
            for (Path path = before[chain]; path != null;) {
                Path next = path.next;
                int to = (int) path.id & wider.length - 1;
                path.next = wider[to];
                wider[to] = path;
                path = next;
            }
        }
        chains = wider;
    }

    /**
     * Ends the path of a thread. The thread itself or the JVM reports its end. If the lock is not available, the
     * next search for ended threads ends the path.
     */
    static void end(Thread thread) {
        Thread current = Thread.currentThread();
        long cpu = thread == current ? CpuTime.of(current) : CpuTime.UNKNOWN;
        long ticket = 0;
        try {
            ticket = Lock.take(current);
            Path path = ticket == 0 ? null : chained(thread);
            if (path != null) {
                if (thread == current) {
                    path.finish();
                }
                path.cpuSpent = CpuTime.between(path.cpuBegan, cpu);
                end(path);
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

    /** Ends the paths of all threads that have ended. */
    private static void sweep(Thread current) {
        for (int chain = 0; chain < chains.length; chain++) {
            for (Path path = chains[chain]; path != null;) {
                Path next = path.next;
                Thread thread = path.thread();
                if (thread != current && (thread == null || !thread.isAlive())) {
                    end(path);
                }
                path = next;
            }
        }
    }

    private static void end(Path path) {
        int slot = slot(path.id);
        if (CACHE[slot] == path) {
            CACHE[slot] = NOBODYS;
        }
        Interpreted.leave(path);
        path.owner = Path.NOBODY;
        Path[] chains = Threads.chains;
        int chain = (int) path.id & chains.length - 1;
        Path head = HEAD;
        head.next = chains[chain];
        Path before = head;
        while (before.next != path) {
            before = before.next;
        }
        // No call and no jump may stand below: the path is always either in the chain or among the ended ones.
        before.next = path.next;
        chains[chain] = head.next;
        path.next = EndedPaths.waiting;
        EndedPaths.waiting = path;
        live--;
        if (!snapshot) {
            EndedPaths.merge();
        }
    }

    /** Drops all paths and trees. Called when the agent has left. */
    static void forget() {
        Thread current = Thread.currentThread();
        long ticket = 0;
        try {
            ticket = Lock.take(current);
            chains = new Path[256];
            live = 0;
            refused = 0;
            sweepAt = 256;
            snapshot = false;
            UNTRACKED.getAndAdd(-UNTRACKED.get());
            LOST.getAndAdd(-LOST.get());
            for (int slot = 0; slot < SLOTS; slot++) {
                CACHE[slot] = NOBODYS;
            }
            Interpreted.forget();
            EndedPaths.forget();
            EndedThreads.forget();
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

    /** Marks the current thread as the reader of a snapshot. Returns its path, or null, for {@link #comeBack}. */
    static Path leave() {
        Thread thread = Thread.currentThread();
        reader = thread;
        long ticket = 0;
        try {
            // The lock is held so that the search misses no path.
            ticket = Lock.take(thread);
            Path path = chained(thread);
            if (path != null) {
                Interpreted.leave(path);
                path.owner = Path.NOBODY;
            }
            return path;
        } finally {
            if (ticket != 0) {
                Lock.holder = null;
                Lock.given = ticket;
            } else {
                Lock.giveBack(thread);
            }
        }
    }

    static void comeBack(Path path) {
        if (path != null) {
            path.owner = Ids.owner(reader);
        }
        reader = null;
    }

    /**
     * Returns the paths of live threads, and those of ended threads that could not be merged; null if the lock is
     * not available. None of these paths is reused before {@link #endSnapshot}.
     */
    static Path[] beginSnapshot() {
        Thread current = Thread.currentThread();
        long ticket = 0;
        try {
            ticket = Lock.take(current);
            if (ticket == 0) {
                return null;
            }
            EndedPaths.merge();
            sweep(current);
            int waiting = 0;
            for (Path path = EndedPaths.waiting; path != null; path = path.next) {
                waiting++;
            }
            Path[] paths = new Path[live + waiting];
            snapshot = true;
            int count = 0;
            for (Path path = EndedPaths.waiting; path != null; path = path.next) {
                paths[count++] = path;
            }
            for (int chain = 0; chain < chains.length; chain++) {
                for (Path path = chains[chain]; path != null; path = path.next) {
                    paths[count++] = path;
                }
            }
            return paths;
        } finally {
            if (ticket != 0) {
                Lock.holder = null;
                Lock.given = ticket;
            } else {
                Lock.giveBack(current);
            }
        }
    }

    static void endSnapshot() {
        // Without the lock, the waiting paths are merged when the next thread ends.
        snapshot = false;
        Thread current = Thread.currentThread();
        long ticket = 0;
        try {
            ticket = Lock.take(current);
            if (ticket != 0) {
                EndedPaths.merge();
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

    /** Returns the number of calls for which there was no path, or no room in it. */
    static long untracked() {
        return UNTRACKED.get();
    }

    /** Returns the number of allocations for which there was no path. */
    static long lost() {
        return LOST.get();
    }

    /** Returns the number of bytes that belong to no thread. If the lock is not available, the pool is left out. */
    static long bytes() {
        long bytes = 4L * (SLOTS + chains.length);
        Thread current = Thread.currentThread();
        long ticket = 0;
        try {
            ticket = Lock.take(current);
            for (Path path = ticket == 0 ? null : EndedPaths.pool; path != null; path = path.next) {
                bytes += path.bytes();
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
