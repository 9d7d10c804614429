package loadhook;

import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

/**
 * The thread that makes the ticks (see {@link Ticker}) for all trackers of the process. A thread for each tracker
 * would take a percent of a processor.
 *
 * Trackers do not know each other's classes. So a further tracker finds the thread by its name, and
 * finds this object as the thread's handler of uncaught exceptions. The thread never throws an
 * exception.
 */
public final class TickerThread implements Runnable, Thread.UncaughtExceptionHandler {
    private static final String NAME = "loadhook-ticker";

    private volatile Runnable[] tickers = {new Ticker()};
    private long seed = System.nanoTime() | 1;

    private TickerThread() {
    }

    /** Starts ticks for this tracker. {@code alone} is true for the first tracker of the process. */
    static void start(boolean alone) {
        if (alone || !join()) {
            TickerThread ticks = new TickerThread();
            Thread thread = BackgroundThread.thread(ticks, NAME);
            thread.setUncaughtExceptionHandler(ticks);
            thread.start();
        }
    }

    private static boolean join() {
        try {
            ThreadGroup group = BackgroundThread.group();
            Thread[] threads = new Thread[2 * group.activeCount() + 10];
            int count = group.enumerate(threads);
            for (int at = 0; at < count; at++) {
                if (threads[at].getName().equals(NAME)) {
                    Object ticks = threads[at].getUncaughtExceptionHandler();
                    ticks.getClass().getMethod("add", Runnable.class).invoke(ticks, new Ticker());
                    return true;
                }
            }
        } catch (Exception error) {
            // Access is forbidden, or the other tracker is of another version. The process then
            // gets one more thread.
        }
        return false;
    }

    /** Adds the ticker of another tracker. */
    public synchronized void add(Runnable ticker) {
        Runnable[] more = Arrays.copyOf(tickers, tickers.length + 1);
        more[tickers.length] = ticker;
        tickers = more;
    }

    /** Makes ticks at random distances, so that they do not run in step with a timer of the program. */
    @Override
    public void run() {
        while (true) {
            seed = Timing.shuffled(seed);
            LockSupport.parkNanos(500000 + (seed >>> 44));
            for (Runnable ticker : tickers) {
                ticker.run();
            }
        }
    }

    @Override
    public void uncaughtException(Thread thread, Throwable error) {
    }
}
