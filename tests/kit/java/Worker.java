import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * A thread that runs one task after another, each within a time limit.
 *
 * The worker can be used as long as its tasks end by themselves. After a task that did not, a new
 * worker is needed.
 */
final class Worker {
    /** The stack is small, so that endless recursion ends soon. */
    private static final long STACK = 512 * 1024;
    /** Number of attempts to stop a thread, which may catch ThreadDeath. */
    private static final int STOPS = 5;
    private static final long STOP_NANOS = 300_000_000;
    /**
     * The limit of a task's elapsed time, as a multiple of the limit of its processor time: a task that waits in native
     * code uses no processor time.
     */
    private static final int ELAPSED = 20;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final Thread thread;
    private Runnable task;
    private Throwable escaped;

    /** The end of a task. */
    enum End {
        /** The task ended by itself, in time. */
        DONE,
        /** The task exceeded its time, and its thread was stopped. */
        STOPPED,
        /** The thread cannot be stopped and still runs, so this process must not be used any more. */
        HUNG
    }

    Worker() {
        thread = new Thread(null, this::serve, "worker", STACK);
        thread.setDaemon(true);
        thread.start();
    }

    /**
     * Runs a task and waits for its end. The limit is on the task's processor time, because on a busy machine even a
     * short task may take long. A task that waits for something has the same limit of elapsed time.
     */
    synchronized End run(Runnable newTask, long milliseconds) throws InterruptedException {
        long limit = milliseconds * 1_000_000;
        long began = System.nanoTime();
        long used = processorTime();
        task = newTask;
        escaped = null;
        notifyAll();
        long left = limit;
        boolean waited = false;
        while (task != null) {
            if (left <= 0) {
                return stop();
            }
            wait(left / 1_000_000 + 1);
            long elapsed = System.nanoTime() - began;
            left = limit - elapsed;
            boolean waits = thread.getState() != Thread.State.RUNNABLE;
            if (left <= 0 && elapsed < ELAPSED * limit && !(waits && waited)) {
                // A thread that has just done its task may wait for this object, but only for a moment.
                left = waits ? 1 : limit - (processorTime() - used);
            }
            waited = waits;
        }
        return End.DONE;
    }

    private long processorTime() {
        return THREADS.getThreadCpuTime(thread.getId());
    }

    /** Returns the exception of the last task; null if the task returned. */
    synchronized Throwable escaped() {
        return escaped;
    }

    private void serve() {
        while (true) {
            Runnable next = awaitTask();
            Throwable thrown = null;
            try {
                next.run();
            } catch (Throwable e) {
                thrown = e;
            }
            if (thrown instanceof ThreadDeath) {
                return;
            }
            Thread.interrupted();
            synchronized (this) {
                escaped = thrown;
                task = null;
                notifyAll();
            }
        }
    }

    private synchronized Runnable awaitTask() {
        while (task == null) {
            try {
                wait();
            } catch (InterruptedException e) {
                // A task has left this interrupt behind; no other code interrupts this thread.
            }
        }
        return task;
    }

    /** Stops the thread. The caller holds the lock, which waiting releases, so that the thread can end. */
    @SuppressWarnings({"deprecation", "removal"})
    private End stop() throws InterruptedException {
        try {
            for (int i = 0; i < STOPS && thread.isAlive(); i++) {
                thread.stop();
                long until = System.nanoTime() + STOP_NANOS;
                while (thread.isAlive() && System.nanoTime() < until) {
                    wait(2);
                }
            }
        } catch (UnsupportedOperationException e) {
            // From JDK 20 on, threads cannot be stopped from outside.
        }
        return thread.isAlive() ? End.HUNG : End.STOPPED;
    }
}
