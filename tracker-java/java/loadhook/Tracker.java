package loadhook;

/**
 * What the injected code calls: counts every call where it was made from, and times some of them.
 *
 * Nothing but a StackOverflowError comes out of a probe. Until a thread's path is found in the cache and the call is one
 * more of the kind before, a probe is a few instructions that HotSpot inlines; all else is in methods of its own.
 */
public class Tracker {
    static long startMillis = System.currentTimeMillis();
    static long startNanos = System.nanoTime();

    private static Snapshot snapshot;
    private static long lostAllocations;

    Tracker() {
    }

    static Path path() {
        Thread thread = Thread.currentThread();
        long id = Ids.of(thread);
        Path path = Threads.CACHE[(int) id & Threads.SLOTS - 1];
        return path.owner == id ? path : Threads.find(thread);
    }

    /** A method's entry. */
    public static void enter(int method) {
        Path path = path();
        if (path != null) {
            path.enter(method);
        } else {
            Threads.missed(Thread.currentThread());
        }
    }

    /** A method's end, by a return or an exception. */
    @OutOfLine
    public static void exit(int method) {
        Path path = path();
        if (path != null) {
            path.exit(method);
        }
    }

    /**
     * A constructor calls another one for the same object. Keys tell constructors apart, if not surely; none is 0.
     *
     * @param key its own
     * @param other that of the one it calls
     */
    @OutOfLine
    public static void construct(int method, int key, int other) {
        Path path = path();
        if (path != null) {
            path.construct(method, key, other);
        }
    }

    /** That call has returned. */
    @OutOfLine
    public static void constructed(int method) {
        Path path = path();
        if (path != null) {
            path.constructed(method);
        }
    }

    /**
     * A constructor's end.
     *
     * @param key its own if an exception ends it, 0 if it returns
     */
    @OutOfLine
    public static void ended(int method, int key) {
        Path path = path();
        if (path != null) {
            path.ended(method, key);
        }
    }

    /** A handler of the method's own begins: what it had called has ended. */
    @OutOfLine
    public static void caught(int method) {
        Path path = path();
        if (path != null) {
            path.caught(method);
        }
    }

    /** An object was allocated; the site's id. */
    public static void alloc(int site) {
        Path path = path();
        if (path != null) {
            path.alloc(site);
        } else {
            Threads.lost(Thread.currentThread());
        }
    }

    /** An array was allocated; the site's id, and in its low bits the kind, see {@link ArraySizes}. */
    public static void allocArray(int length, int siteAndKind) {
        Path path = path();
        if (path != null) {
            path.allocArray(length, siteAndKind);
        } else {
            Threads.lost(Thread.currentThread());
        }
    }

    /** An array of several dimensions was allocated: told of each, from the outermost on, numbered from 0. */
    @OutOfLine
    public static void allocDimension(int length, int dimension, int siteAndKind) {
        Path path = path();
        if (path != null) {
            path.allocDimension(length, dimension, siteAndKind);
        } else {
            Threads.lost(Thread.currentThread());
        }
    }

    /**
     * Sets what holds for the whole run, before the first probe.
     *
     * @param timing 0 adaptive, 1 exact, 2 count
     * @param clock 0 wall, 1 the thread's processor time
     */
    public static void configure(int timing, int clock, int maxNodes) {
        Clock.kind = clock;
        Timing.configure(timing);
        startMillis = System.currentTimeMillis();
        startNanos = System.nanoTime();
        CpuTime.find();
        Calibration.rehearse();
        Budget.limit(maxNodes);
    }

    /** The current thread's processor time; the agent's. */
    static native long threadCpuNanos();

    /** A thread's processor time, -1 if the VM cannot tell; the agent's. */
    static native long cpuNanos(Thread thread);

    /** A thread is about to end, or has ended: its tree is merged with those of its like. */
    public static void threadEnd(Thread thread) {
        Threads.end(thread);
    }

    /**
     * Where the agent writes the last tick and the one before, as even ints in units of 2^13 ns of
     * {@link System#nanoTime}, which reads {@code now}, and behind them the spread, see {@link Ticker}; 0 if it does
     * not tick.
     */
    static native long tickAddress(long now);

    /**
     * Lets other threads run for a moment, the longer the more naps there were before; the agent's. A native method is
     * never instrumented, and leaves a virtual thread where it is.
     */
    static native void nap(int before);

    /**
     * Has the agent's function bound to the JDK's native that defines hidden classes. A JVM prints a warning when a native of
     * its own is bound again, unless a method of the boot loader asks for it.
     */
    static void bind() {
        bindDefiner();
    }

    private static native void bindDefiner();

    /** Whether the agent's profile goes to that file. For trackers of rewritten archives in this JVM, as the next one. */
    public static native boolean agentClaims(String file);

    /** Tells the agent of a profile that somebody else wrote. */
    public static native void agentNotes(String file);

    /**
     * Begins a snapshot; one that was not read to its end is given up.
     *
     * @return false if there is none, since the thread that has the registry's lock does not give it back
     */
    public static synchronized boolean beginSnapshot() {
        Path own = Threads.leave();
        try {
            endSnapshot();
            long cpu = own == null ? CpuTime.UNKNOWN : CpuTime.of(Thread.currentThread());
            // A tenth of what the program has run, since the loop has to be compiled; of a program of a moment nothing.
            Calibration.run(Math.min((System.nanoTime() - startNanos) / 10 - 20000000, 200000000));
            if (own != null) {
                // The program did not spend it.
                long spent = CpuTime.between(cpu, CpuTime.of(Thread.currentThread()));
                own.cpuBegan = CpuTime.sum(own.cpuBegan, spent);
            }
            snapshot = begun();
            return snapshot != null;
        } finally {
            Threads.comeBack(own);
        }
    }

    /** How many allocations the snapshot that was begun last lacks, since there was no room for their sites. */
    public static synchronized long lostAllocations() {
        return lostAllocations;
    }

    /** Fills a buffer of at least 4096 words with records; how many words, 0 when the snapshot is at its end. */
    public static synchronized int snapshot(long[] buffer) {
        if (snapshot == null) {
            return 0;
        }
        Path own = Threads.leave();
        try {
            int words = snapshot.fill(buffer);
            if (words == 0) {
                endSnapshot();
            }
            return words;
        } finally {
            Threads.comeBack(own);
        }
    }

    private static Snapshot begun() {
        Path[] paths = Threads.beginSnapshot();
        if (paths == null) {
            return null;
        }
        Snapshot made = null;
        try {
            made = new Snapshot(paths);
            lostAllocations = made.lost;
            return made;
        } finally {
            if (made == null) {
                // Else the paths of threads that end wait for ever.
                Threads.endSnapshot();
            }
        }
    }

    private static void endSnapshot() {
        if (snapshot != null) {
            snapshot.end();
            snapshot = null;
        }
    }
}
