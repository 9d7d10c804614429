package loadhook;

import java.lang.ref.WeakReference;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Finds a thread's path, and keeps the paths of all threads.
 *
 * Nothing here calls what a program can override or trusts what it can erase (thread locals): a thread's id leads to its
 * slot in the cache and its chain in the registry.
 *
 * The JDK may be instrumented itself. What the way to a path calls is not, then (the agent's tests compute it); around all
 * else the thread is marked, so that probes it meets there do nothing.
 */
final class Threads {
    static final int SLOTS = 4096;

    /** Where most probes find their path; never null, so that a probe need not ask. */
    static final Path[] CACHE = new Path[SLOTS];

    /** Of a virtual thread's path when it is made, roughly. */
    private static final int VIRTUAL_BYTES = 1 << 10;
    /** One in so many paths is the calls that go without one until it is worth a look who has ended. */
    private static final int PATIENCE = 32;

    /** The thread that reads a snapshot: probes that it meets meanwhile do nothing. */
    private static volatile Thread reader;

    private static Path[] chains = new Path[256];
    private static int live;
    /** Calls of virtual threads since the last look that there was no room for; about. */
    private static int refused;
    /** With so many paths it is time to look for those of threads that have ended. */
    private static int sweepAt = 256;
    private static volatile boolean snapshot;
    private static final AtomicLong UNTRACKED = new AtomicLong();
    private static final AtomicLong LOST = new AtomicLong();
    /** So that two threads that begin at once draw differently, and a test draws the same. */
    static long seed;

    static final Path NOBODYS = new Path(Timing.COUNT, 2, 1, 1);
    /** Before the first one of a chain, while one is taken out of it. */
    private static final Path HEAD = new Path(Timing.COUNT, 2, 1, 1);

    static {
        for (int slot = 0; slot < SLOTS; slot++) {
            CACHE[slot] = NOBODYS;
        }
    }

    private Threads() {
    }

    static int slot(long id) {
        return (int) id & SLOTS - 1;
    }

    /** The path of the current thread, which the cache does not have; null if it may have none now. */
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
        // Two threads that share a slot shall not take it from each other at every probe.
        if ((path.misses++ & 15) == 0) {
            CACHE[slot(path.id)] = path;
        }
        return path;
    }

    /** A call that has no path: counted, unless it is one of our own. */
    static void missed(Thread thread) {
        if (isMissed(thread)) {
            UNTRACKED.getAndIncrement();
        }
    }

    /** An allocation that has no path. */
    static void lost(Thread thread) {
        if (isMissed(thread)) {
            LOST.getAndIncrement();
        }
    }

    private static boolean isMissed(Thread thread) {
        return !isOurs(thread) && chained(thread) == null && isComplete(thread);
    }

    /** Whether probes that the thread meets now are not the program's. */
    private static boolean isOurs(Thread thread) {
        return Lock.holder == thread || reader == thread;
    }

    /** Without the lock, so what is not found may be there all the same. */
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
        // Without the lock, at which all of them would meet at each of their calls.
        if (isTooMany(Ids.isVirtual(thread)) && ++refused <= live / PATIENCE) {
            return null;
        }
        Path path = register(thread, null);
        if (path == null) {
            // Without the lock, at which virtual threads queue, since it takes long.
            Path made = make(Ids.isVirtual(thread));
            if (made != null) {
                path = register(thread, made);
            }
        }
        // One that was there already has begun before.
        if (path != null && path.cpuBegan == CpuTime.UNKNOWN) {
            path.cpuBegan = CpuTime.of(thread);
        }
        return path;
    }

    /** The thread's path, if it has one already, or one of the pool, or the new one; null without the lock. */
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
        return path != null ? path : add(thread, made);
    }

    /** A virtual thread is one of very many, and shallow. */
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

    /** Whether the paths of virtual threads hold what they may. */
    private static boolean isTooMany(boolean virtual) {
        return virtual && !Budget.hasRoomForVirtual(VIRTUAL_BYTES);
    }

    /** A thread that attaches to the JVM runs its own constructor. */
    private static boolean isComplete(Thread thread) {
        return Ids.of(thread) != 0;
    }

    private static Path add(Thread thread, Path made) {
        boolean virtual = Ids.isVirtual(thread);
        // Nobody may have told of those that have ended.
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
        path.mode = virtual && Clock.kind == Clock.CPU ? Timing.COUNT : Timing.paths;
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

    /** A thread's end, told by itself or by the JVM; without the lock the next look at the threads finds it. */
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

    /** Ends the paths of the threads that have ended. */
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
        path.owner = Path.NOBODY;
        Path[] chains = Threads.chains;
        int chain = (int) path.id & chains.length - 1;
        Path head = HEAD;
        head.next = chains[chain];
        Path before = head;
        while (before.next != path) {
            before = before.next;
        }
        // Neither call nor jump from here on: it is found in one place or the other.
        before.next = path.next;
        chains[chain] = head.next;
        path.next = EndedPaths.waiting;
        EndedPaths.waiting = path;
        live--;
        if (!snapshot) {
            EndedPaths.merge();
        }
    }

    // For snapshots.

    /** The current thread reads them; its path, if it has one, for {@link #comeBack}. */
    static Path leave() {
        Thread thread = Thread.currentThread();
        reader = thread;
        long ticket = 0;
        try {
            // So that what is there is found.
            ticket = Lock.take(thread);
            Path path = chained(thread);
            if (path != null) {
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
     * The paths of living threads, and of those that could not be merged; none of them is given to another thread before
     * {@link #endSnapshot}. Null without the lock.
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
        // Without the lock the next one to end merges what has ended.
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

    /** Calls of threads for which there was no room. */
    static long untracked() {
        return UNTRACKED.get();
    }

    /** Allocations of threads for which there was no room. */
    static long lost() {
        return LOST.get();
    }

    /** Of what is no thread's; without the lock not all of it. */
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
