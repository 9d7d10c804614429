package loadhook;

import java.util.concurrent.locks.LockSupport;

/** The entry point of the tracker for the parts of archives. The first part starts the tracker. */
public final class Parts {
    /**
     * Version of the probes and of the methods of this class that parts call. One loader may have archives of
     * several versions of Loadhook. The compiler copies this constant into each part, so a part passes the
     * version for which it was made.
     */
    public static final int VERSION = 2;

    private static final int NONE = 0;
    private static final int STARTING = 1;
    private static final int RUNNING = 2;
    private static final int OFF = 3;
    /** The state in which this tracker's archives use the tracker of another package. */
    private static final int ELSEWHERE = 4;

    /** The time that a thread waits for another thread to start the tracker, in nanoseconds. */
    private static final long PATIENCE = 1000000000;

    private static final Object LOCK = new Object();
    private static volatile int state;
    private static volatile Thread starter;
    /** The result of {@link #register} in the state {@link #ELSEWHERE}. */
    private static int elsewhere;
    private static ExitHook exit;

    private Parts() {
    }

    /**
     * Registers a part. Returns the base, which is the number to add to the ids of its archive. A
     * negated base means that the part must use another tracker, -1 that the archive must not
     * count, 0 that the part must ask again later.
     *
     * @param archive the archive's id and the number of its method ids
     * @param version the version for which the part was made
     */
    public static int register(Class<?> part, String archive, int version) {
        if (version != VERSION) {
            throw new IllegalArgumentException("this tracker has version " + VERSION + ", the archive needs version " + version);
        }
        boolean first;
        // No code of the program is called while the lock is held: that code could wait for a thread that waits
        // for the lock.
        synchronized (LOCK) {
            if (starter == Thread.currentThread()) {
                // This thread is starting the tracker, and the start has called an instrumented method.
                return 0;
            }
            first = state == NONE;
            if (first) {
                state = STARTING;
                starter = Thread.currentThread();
            }
        }
        if (first) {
            start(part, archive);
        } else {
            await();
        }
        switch (state) {
            case NONE:
                return 0;
            case OFF:
                return -1;
            case ELSEWHERE:
                return elsewhere;
            default:
                return Archives.add(part, archive);
        }
    }

    /**
     * Does what {@link #register} does, for a part that is not linked with this tracker. Returns
     * the base and, if the base is positive, the probes to call. Returns null if the part is of
     * another version.
     */
    public static Object[] join(Class<?> part, String archive, int version) {
        return version == VERSION ? ExportedProbes.probes(register(part, archive, version)) : null;
    }

    /**
     * Writes the profile now. Programs call this if they end by {@code Runtime.halt}, or run with
     * {@code dump-on-exit=false}.
     */
    public static void dump() {
        ExitHook exit = Parts.exit;
        if (state == ELSEWHERE) {
            SharedTracker.dump();
        } else if (exit != null) {
            exit.run();
        }
    }

    /**
     * Starts the tracker. The start may call instrumented code. These calls are not counted, because the program
     * did not make them.
     */
    private static void start(Class<?> part, String archive) {
        Path own = null;
        try {
            Lock.backoff = new ParkingBackoff();
            own = Threads.leave();
            int joined = SharedTracker.join(part, archive);
            if (joined != SharedTracker.OWN) {
                elsewhere = -joined;
                state = joined == 0 ? NONE : ELSEWHERE;
                return;
            }
            int tracker = ThisProcess.nextTracker();
            if (tracker > ThisProcess.MOST_TRACKERS) {
                tooMany(tracker);
                return;
            }
            Settings settings = Settings.read(part);
            int clock = settings.clock == Clock.CPU && settings.timing != Timing.COUNT ? cpu() : settings.clock;
            Tracker.configure(settings.timing, clock, settings.maxNodes);
            ExitHook exit = new ExitHook(settings, tracker);
            if (settings.dumpOnExit) {
                Runtime.getRuntime().addShutdownHook(BackgroundThread.thread(exit, "loadhook-exit"));
            }
            Parts.exit = exit;
            state = RUNNING;
            if (settings.timing == Timing.ADAPTIVE) {
                tick(tracker == 1);
            }
        } catch (Throwable error) {
            Diagnostics.failure("the tracker did not start, so calls are not counted", error);
        } finally {
            if (state == STARTING) {
                state = OFF;
            }
            starter = null;
            Threads.comeBack(own);
        }
    }

    private static void tooMany(int tracker) {
        if (tracker == ThisProcess.MOST_TRACKERS + 1) {
            Diagnostics.line(ThisProcess.MOST_TRACKERS + " class loaders have trackers of their own; archives in further loaders are not"
                    + " counted. To count all, rewrite with --tracker jar:PATH and put that jar on the class path");
        }
    }

    /**
     * Waits for the thread that starts the tracker, because calls that are counted earlier would be
     * counted in the wrong mode. The wait is limited, because the starting thread may itself wait
     * for this one.
     */
    private static void await() {
        long end = System.nanoTime() + PATIENCE;
        while (state == STARTING && starter != Thread.currentThread() && System.nanoTime() - end < 0) {
            LockSupport.parkNanos(100000);
        }
    }

    /** Chooses the CPU clock if the JVM has one, otherwise the wall clock. */
    private static int cpu() {
        try {
            Clock.cpu = new BeanClock();
            return Clock.CPU;
        } catch (Exception error) {
            Diagnostics.failure("processor time is not available, so calls are timed by the wall clock", error);
        } catch (LinkageError error) {
            Diagnostics.failure("processor time is not available, so calls are timed by the wall clock", error);
        }
        return Clock.WALL;
    }

    /**
     * Starts the ticks. Without ticks, times are still correct on average, but estimates have
     * larger errors.
     */
    private static void tick(boolean alone) {
        try {
            TickerThread.start(alone);
        } catch (Throwable error) {
            Diagnostics.failure("the thread loadhook-ticker did not start, so times are less exact", error);
        }
    }
}
