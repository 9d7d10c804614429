package loadhook;

import java.util.concurrent.locks.LockSupport;

/** The tracker's entry point for the parts of archives. The first part starts the tracker. */
public final class Parts {
    /**
     * Of what parts call here and of the probes. The compiler copies it into parts, which so tell the one they were made for: in
     * one loader there may be archives of several versions of Loadhook.
     */
    public static final int VERSION = 1;

    private static final int NONE = 0;
    private static final int STARTING = 1;
    private static final int RUNNING = 2;
    private static final int OFF = 3;
    /** Its archive uses a tracker of another package. */
    private static final int ELSEWHERE = 4;

    /** How long a thread waits for another one that starts the tracker, in nanoseconds. */
    private static final long PATIENCE = 1000000000;

    private static final Object LOCK = new Object();
    private static volatile int state;
    private static volatile Thread starter;
    /** What parts get in that state. */
    private static int elsewhere;
    private static ExitHook exit;

    private Parts() {
    }

    /**
     * The number to add to an archive's ids; negated, if it is another tracker's that it is to use; -1 if it is not to count;
     * 0 if it has to ask later.
     *
     * @param archive its id and the number of its ids
     * @param version the one that the part was made for
     */
    public static int register(Class<?> part, String archive, int version) {
        if (version != VERSION) {
            throw new IllegalArgumentException("version " + VERSION + " found, not " + version);
        }
        boolean first;
        // Nothing foreign is called in here: it could wait for another thread, which waits here.
        synchronized (LOCK) {
            if (starter == Thread.currentThread()) {
                // A probe in what is called from here.
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
     * As {@link #register} for a part that is not linked with this tracker: its base, and if that is positive the probes to
     * call. Null if it is of another version.
     */
    public static Object[] join(Class<?> part, String archive, int version) {
        return version == VERSION ? ExportedProbes.probes(register(part, archive, version)) : null;
    }

    /** Writes the profile now: for programs that end by {@code Runtime.halt}, and those with {@code dump-on-exit=false}. */
    public static void dump() {
        ExitHook exit = Parts.exit;
        if (state == ELSEWHERE) {
            SharedTracker.dump();
        } else if (exit != null) {
            exit.run();
        }
    }

    /** What is called from here may be instrumented; it is not the program that calls it. */
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
            Diagnostics.failure("nothing is counted", error);
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
            Diagnostics.line(ThisProcess.MOST_TRACKERS + " class loaders have trackers of their own, further ones' archives are not"
                    + " counted: a tracker on the class path (--tracker jar:) would count for all");
        }
    }

    /** What is counted before the tracker is set up may be of another mode, so others wait. But that one may need them. */
    private static void await() {
        long end = System.nanoTime() + PATIENCE;
        while (state == STARTING && starter != Thread.currentThread() && System.nanoTime() - end < 0) {
            LockSupport.parkNanos(100000);
        }
    }

    /** The processor clock, if the JVM has one for us. */
    private static int cpu() {
        try {
            Clock.cpu = new BeanClock();
            return Clock.CPU;
        } catch (Exception error) {
            Diagnostics.failure("no processor time, so the clock is wall", error);
        } catch (LinkageError error) {
            Diagnostics.failure("no processor time, so the clock is wall", error);
        }
        return Clock.WALL;
    }

    /** Without ticks estimates are coarser, no more. */
    private static void tick(boolean alone) {
        try {
            TickerThread.start(alone);
        } catch (Throwable error) {
            Diagnostics.failure("times are less exact", error);
        }
    }
}
