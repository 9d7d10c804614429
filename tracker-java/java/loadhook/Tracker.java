package loadhook;

/**
 * The class that injected code calls. It counts every call by its calling context, and times some calls.
 *
 * A probe throws nothing but a StackOverflowError. If the cache contains the thread's path and the
 * call is like the previous one, a probe is a few instructions, which HotSpot inlines. Everything
 * else is in separate methods.
 */
public class Tracker {
    static long startMillis = System.currentTimeMillis();
    static long startNanos = System.nanoTime();

    /**
     * True when the agent has left. Probes of calls that are still under way then do nothing.
     */
    static volatile boolean isOff;

    private static Snapshot snapshot;
    private static MethodSums sums;
    private static long lostAllocations;

    Tracker() {
    }

    static Path path() {
        Thread thread = Thread.currentThread();
        long id = Ids.of(thread);
        Path path = Threads.CACHE[(int) id & Threads.SLOTS - 1];
        return path.owner == id ? path : Threads.find(thread);
    }

    /** Called at a method's entry. */
    public static void enter(int method) {
        Path path = path();
        if (path != null) {
            path.enter(method);
        } else {
            Threads.missed(Thread.currentThread());
        }
    }

    /** Called at a method's entry instead of {@link #enter}: counts the call and nothing else. */
    @Inlined
    public static void count(int method) {
        // The current thread is used, not its carrier: the JIT loads the current thread once for a whole compiled
        // method, but the carrier at each probe. A virtual thread has no array, so countOnCarrier counts its
        // calls.
        Thread thread = Thread.currentThread();
        long id = Ids.of(thread);
        if (method < Stripes.LENGTH) {
            int stripe = (int) id & Stripes.MASK;
            if (Stripes.OWNERS[stripe] == thread) {
                Stripes.CALLS[(stripe << Stripes.BITS) + method]++;
                return;
            }
        } else {
            int at = method + MethodCalls.FIRST;
            long[] calls = Counters.CACHE[(int) id & Counters.SLOTS - 1];
            // The longer index is compared with the length, so the JIT needs no other comparison.
            if (at < calls.length && calls[0] == id) {
                calls[at]++;
                return;
            }
        }
        Counters.countOnCarrier(method);
    }

    /** Called at a method's end, by a return or an exception. */
    @OutOfLine
    public static void exit(int method) {
        Path path = path();
        if (path != null) {
            path.exit(method);
        }
    }

    /**
     * Called before a constructor calls another one for the same object. Keys are hashes of constructors; none is 0.
     *
     * @param key key of the calling constructor
     * @param other key of the called constructor
     */
    @OutOfLine
    public static void construct(int method, int key, int other) {
        Path path = path();
        if (path != null) {
            path.construct(method, key, other);
        }
    }

    /** Called when the constructor announced by {@link #construct} has returned. */
    @OutOfLine
    public static void constructed(int method) {
        Path path = path();
        if (path != null) {
            path.constructed(method);
        }
    }

    /**
     * Called at a constructor's end.
     *
     * @param key key of the constructor if an exception ends it, 0 if it returns
     */
    @OutOfLine
    public static void ended(int method, int key) {
        Path path = path();
        if (path != null) {
            path.ended(method, key);
        }
    }

    /**
     * Called at the beginning of an exception handler of the method. By then, all calls that the method made have
     * ended.
     */
    @OutOfLine
    public static void caught(int method) {
        Path path = path();
        if (path != null) {
            path.caught(method);
        }
    }

    /** Returns the time at the entry of a traced method, which keeps it in a local variable. */
    public static long traceEnter() {
        return System.nanoTime();
    }

    /** Called before a traced method returns. */
    public static void traceExit(long start, int method) {
        long end = System.nanoTime();
        if (Trace.isRecorded(method, start, end, null)) {
            Trace.ended(method, start, end, null, null);
        }
    }

    /** Called when an exception leaves a traced method. */
    public static void traceThrown(Throwable thrown, long start, int method) {
        long end = System.nanoTime();
        if (Trace.isRecorded(method, start, end, thrown)) {
            Trace.ended(method, start, end, thrown, null);
        }
    }

    // The probes of a trace with values. A list of values is a TracedValue; null is the empty list.

    /** Puts a value in front of a list, and returns the new list. */
    public static Object traceValue(int value, Object list) {
        return TracedValue.before('I', value, null, list);
    }

    /** Puts a value in front of a list, and returns the new list. */
    public static Object traceValue(long value, Object list) {
        return TracedValue.before('J', value, null, list);
    }

    /** Puts a value in front of a list, and returns the new list. */
    public static Object traceValue(float value, Object list) {
        return TracedValue.before('F', Float.floatToRawIntBits(value), null, list);
    }

    /** Puts a value in front of a list, and returns the new list. */
    public static Object traceValue(double value, Object list) {
        return TracedValue.before('D', Double.doubleToRawLongBits(value), null, list);
    }

    /** Puts a value in front of a list, and returns the new list. */
    public static Object traceValue(Object value, Object list) {
        return TracedValue.before('L', 0, value, list);
    }

    /** Does what {@link #traceExit(long, int)} does, with the call's values, the result in front. */
    public static void traceExit(Object values, long start, int method) {
        if (Describing.isUnderWay()) {
            return;
        }
        long end = System.nanoTime();
        if (Trace.isRecorded(method, start, end, null)) {
            Trace.ended(method, start, end, null, values);
        }
    }

    /** Does what {@link #traceThrown(Throwable, long, int)} does, with the values of the call. */
    public static void traceThrown(Throwable thrown, Object values, long start, int method) {
        if (Describing.isUnderWay()) {
            return;
        }
        long end = System.nanoTime();
        if (Trace.isRecorded(method, start, end, thrown)) {
            Trace.ended(method, start, end, thrown, values);
        }
    }

    /** Called after an object was allocated at a site. */
    public static void alloc(int site) {
        Path path = path();
        if (path != null) {
            path.alloc(site);
        } else {
            Threads.lost(Thread.currentThread());
        }
    }

    /** Called after an array was allocated. Below the site's id, low bits hold its kind, see {@link ArraySizes}. */
    public static void allocArray(int length, int siteAndKind) {
        Path path = path();
        if (path != null) {
            path.allocArray(length, siteAndKind);
        } else {
            Threads.lost(Thread.currentThread());
        }
    }

    /**
     * Called for each dimension of a multidimensional array, after the array was allocated. Dimensions are
     * numbered from 0, the outermost first.
     */
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
     * Sets the options that hold until the agent leaves. Called before the agent's first probe.
     *
     * @param timing 0 adaptive, 1 exact, 2 count, 3 sampled (probes only count, and times come from samples)
     * @param clock 0 wall, 1 the thread's processor time
     */
    public static void configure(int timing, int clock, int maxNodes) {
        if (isOff) {
            // A probe that was under way when the last agent left may have counted since then.
            forget();
        }
        Clock.kind = clock;
        Timing.configure(timing);
        startMillis = System.currentTimeMillis();
        startNanos = System.nanoTime();
        CpuTime.find();
        if (Timing.mode != Timing.SAMPLED) {
            Calibration.rehearsePaths();
        }
        Calibration.rehearseSnapshot();
        Counters.rehearse();
        Budget.limit(maxNodes);
        Pausable.isPaused = false;
        isOff = false;
    }

    /** Makes the tracker expect probes in few methods. Called before {@link #configure}. */
    static void expectFewMethods() {
        Timing.hasFewMethods = true;
    }

    /** Prepares the tracker for methods that lose their timing probes. Called before {@link #configure}. */
    static void expectLostProbes() {
        Timing.mayLoseProbes = true;
    }

    /** Lets timed calls also be counted by their durations. Called after {@link #configure}, before the first probe. */
    static void countDurations() {
        Latencies.begin();
    }

    /** Begins a pause of the probes in hidden classes, or ends it if {@code begins} is 0. */
    static void pause(int begins) {
        Pausable.isPaused = begins != 0;
    }

    /** Ends the run: probes that are still under way do nothing from now on, and all counts are dropped. */
    static synchronized void leave() {
        isOff = true;
        forget();
    }

    private static void forget() {
        snapshot = null;
        sums = null;
        lostAllocations = 0;
        Latencies.areCounted = false;
        Threads.forget();
        Counters.forget();
        Budget.forget();
        Trace.forget();
    }

    /** Returns the current thread's processor time in nanoseconds. The agent implements it. */
    static native long threadCpuNanos();

    /** Returns how often the current thread lost its processor, see {@link Clock#switches}. The agent implements it. */
    static native long threadSwitches();

    /** Returns a thread's processor time in nanoseconds, -1 if the JVM does not know it. The agent implements it. */
    static native long cpuNanos(Thread thread);

    /** Called when a platform thread begins, if calls are counted by method alone or may be later. */
    static void threadStart(Thread thread) {
        Counters.begin(thread);
    }

    /**
     * Called when a thread is about to end, or has ended. The thread's tree is merged into the tree of ended threads
     * with the same name, and its counts are added to the counts of all ended threads.
     */
    public static void threadEnd(Thread thread) {
        Threads.end(thread);
        Counters.end(thread);
    }

    /**
     * Returns the address outside the heap to which the agent writes the last tick, the one before it, and the
     * spread, see {@link Ticker}; 0 if the agent makes no ticks. Ticks are readings of {@link System#nanoTime}, as
     * even ints in units of 2^13 ns. The present reading is {@code now}, in nanoseconds.
     */
    static native long tickAddress(long now);

    /**
     * Lets other threads run for a moment. The pause gets longer with the number {@code before} of earlier naps.
     * The agent implements this method. It is native because native methods are never instrumented, and do not
     * unmount a virtual thread.
     */
    static native void nap(int before);

    /**
     * Makes the agent bind its own function to the JDK's native method that defines hidden classes.
     * A JVM prints a warning when one of its native methods is bound again, unless a method of the
     * boot loader asks for it.
     */
    static void bind() {
        bindDefiner();
    }

    private static native void bindDefiner();

    /** Links the agent's functions for threads that park. Returns whether that was possible. */
    static boolean linkParks() {
        return Parks.link();
    }

    /**
     * Returns whether the agent writes its profile to that file. The trackers of rewritten archives in this JVM
     * call this.
     */
    public static native boolean agentClaims(String file);

    /** Tells the agent about a profile that the tracker of a rewritten archive wrote. */
    public static native void agentNotes(String file);

    /**
     * Begins a snapshot. An earlier one that was not read to its end is abandoned.
     *
     * @return false if another thread keeps the registry's lock
     */
    public static synchronized boolean beginSnapshot() {
        Path own = Threads.leave();
        Counters.leave();
        try {
            endSnapshot();
            if (Timing.mode != Timing.SAMPLED) {
                calibrate(own);
            }
            snapshot = begun();
            return snapshot != null;
        } finally {
            Counters.comeBack();
            Threads.comeBack(own);
        }
    }

    private static void calibrate(Path own) {
        long cpu = own == null ? CpuTime.UNKNOWN : CpuTime.of(Thread.currentThread());
        // Calibration takes a tenth of the program's time so far, because its
        // loop has to be compiled. A very short program gets none.
        Calibration.run(Math.min((System.nanoTime() - startNanos) / 10 - 20000000, 200000000));
        if (own != null) {
            // The program did not use the time of the calibration.
            long spent = CpuTime.between(cpu, CpuTime.of(Thread.currentThread()));
            own.cpuBegan = CpuTime.sum(own.cpuBegan, spent);
        }
    }

    /** Returns the number of allocations that the last snapshot lacks, because there was no room for them. */
    public static synchronized long lostAllocations() {
        return lostAllocations;
    }

    /** Fills a buffer of at least 4096 words with records; returns the number of words, 0 at the end of the snapshot. */
    public static synchronized int snapshot(long[] buffer) {
        if (snapshot == null) {
            return 0;
        }
        Path own = Threads.leave();
        Counters.leave();
        try {
            int words = snapshot.fill(buffer);
            if (words == 0) {
                endSnapshot();
            }
            return words;
        } finally {
            Counters.comeBack();
            Threads.comeBack(own);
        }
    }

    /**
     * Sums up calls and times by method, for {@link #methodSums}. A snapshot that was not read to its end is
     * abandoned.
     *
     * @return false if there is no room, or if another thread keeps the registry's lock
     */
    static synchronized boolean sumUpMethods() {
        Path own = Threads.leave();
        Counters.leave();
        try {
            endSnapshot();
            sums = MethodSums.make();
            return sums != null;
        } finally {
            Counters.comeBack();
            Threads.comeBack(own);
        }
    }

    /** Fills a buffer with the words of {@link MethodSums#fill}. Returns their number, 0 at the end. */
    static synchronized int methodSums(long[] buffer) {
        Path own = Threads.leave();
        Counters.leave();
        try {
            int words = sums == null ? 0 : sums.fill(buffer);
            if (words == 0) {
                sums = null;
            }
            return words;
        } finally {
            Counters.comeBack();
            Threads.comeBack(own);
        }
    }

    /**
     * Starts recording calls of traced methods.
     *
     * @param slow the least duration of a call in nanoseconds
     * @param takesThrown 1 to record the calls that an exception ends, too, otherwise 0
     * @param callsToString 1 to call {@code toString} of recorded values, otherwise 0
     */
    static void beginTrace(long slow, int takesThrown, int callsToString) {
        Trace.begin(slow, takesThrown != 0, callsToString != 0);
    }

    /** Ends the trace that {@link #beginTrace} began, and drops the calls that were not taken. */
    static void endTrace() {
        Trace.forget();
    }

    /** Returns the oldest recorded calls as text; empty if there are none. */
    static synchronized String takeTraced() {
        Path own = Threads.leave();
        Counters.leave();
        try {
            return Trace.take();
        } finally {
            Counters.comeBack();
            Threads.comeBack(own);
        }
    }

    /** Drops the calls or, with 1, their parts, for lack of memory. Returns how many were lost and not reported yet. */
    static synchronized long dropTraced(int areParts) {
        return Trace.drop(areParts != 0);
    }

    /** Returns the durations of traced calls so far as text. */
    static synchronized String takeLatencies() {
        Path own = Threads.leave();
        Counters.leave();
        try {
            StringBuilder text = new StringBuilder();
            TracedLatencies.write(text);
            return text.toString();
        } finally {
            Counters.comeBack();
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
            MethodCalls calls = Counters.all(true);
            if (calls == null) {
                return null;
            }
            made = new Snapshot(paths, calls);
            lostAllocations = made.lost;
            return made;
        } finally {
            if (made == null) {
                // Without this, the paths of threads that end would wait for ever.
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
