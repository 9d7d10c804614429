package loadhook;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** The archives that share this tracker. The first one starts it. */
public final class Parts {
    private static final int NONE = 0;
    private static final int STARTING = 1;
    private static final int RUNNING = 2;
    private static final int OFF = 3;

    /** How long a thread waits for another one that starts the tracker, in nanoseconds. */
    private static final long PATIENCE = 1000000000;

    private static final Object LOCK = new Object();
    private static final List<Symbols> ARCHIVES = new ArrayList<Symbols>();
    private static int next;
    private static volatile int state;
    private static Thread starter;
    private static Exit exit;

    private Parts() {
    }

    /**
     * The number to add to an archive's ids, negative if it is not to count. Called while {@code part} is initialised.
     *
     * @param archive its id and the number of its ids
     */
    public static int register(Class<?> part, String archive) {
        int base;
        boolean first;
        // Nothing foreign is called in here: it could wait for a class that another thread initialises, which waits here.
        synchronized (LOCK) {
            int space = archive.indexOf(' ');
            int ids = Integer.parseInt(archive.substring(space + 1));
            base = next;
            if (ids > Integer.MAX_VALUE - base) {
                return -1;
            }
            next = base + ids;
            ARCHIVES.add(new Symbols(part, archive.substring(0, space), base, ids));
            first = state == NONE;
            if (first) {
                state = STARTING;
                starter = Thread.currentThread();
            }
        }
        if (first) {
            start(part);
        } else {
            await();
        }
        return state == OFF ? -1 : base;
    }

    /** The archives so far. */
    static Symbols[] archives() {
        synchronized (LOCK) {
            return ARCHIVES.toArray(new Symbols[0]);
        }
    }

    /** Writes the profile now: for programs that end by {@code Runtime.halt}, and those with {@code dump-on-exit=false}. */
    public static void dump() {
        Exit exit = Parts.exit;
        if (exit != null) {
            exit.run();
        }
    }

    /** What is called from here may be instrumented; it is not the program that calls it. */
    private static void start(Class<?> part) {
        Path own = null;
        try {
            Lock.nap = new ShortNap();
            own = Threads.leave();
            Settings settings = Settings.read(part);
            int clock = settings.clock == Clock.CPU && settings.timing != Timing.COUNT ? cpu() : settings.clock;
            Tracker.configure(settings.timing, clock, settings.maxNodes);
            Exit exit = new Exit(settings);
            if (settings.dumpOnExit) {
                Runtime.getRuntime().addShutdownHook(Background.thread(exit, "loadhook-exit"));
            }
            Parts.exit = exit;
            state = RUNNING;
            if (settings.timing == Timing.ADAPTIVE && clock == Clock.WALL) {
                tick();
            }
        } catch (Throwable error) {
            Tell.failure("nothing is counted", error);
        } finally {
            if (state != RUNNING) {
                state = OFF;
            }
            starter = null;
            Threads.comeBack(own);
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
            Tell.failure("no processor time, so the clock is wall", error);
        } catch (LinkageError error) {
            Tell.failure("no processor time, so the clock is wall", error);
        }
        return Clock.WALL;
    }

    /** Without ticks estimates are coarser, no more. */
    private static void tick() {
        try {
            Ticker.start(Background.group());
        } catch (Throwable error) {
            Tell.failure("times are less exact", error);
        }
    }
}
