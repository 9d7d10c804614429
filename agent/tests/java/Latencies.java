import java.lang.reflect.Method;

/**
 * Calls methods whose durations are known: of 100 calls of {@code answer}, 90 sleep for a millisecond and 10 for thirty.
 * They run in ten threads, which end. {@code fast} does next to nothing.
 */
public class Latencies {
    static volatile int sink;

    public static void main(String[] args) throws Exception {
        Thread[] threads = new Thread[10];
        for (int thread = 0; thread < threads.length; thread++) {
            threads[thread] = start(Latencies::ten);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        for (int call = 0; call < 20000; call++) {
            fast();
        }
    }

    /** Starts a virtual thread if the property is set. */
    private static Thread start(Runnable run) throws Exception {
        if (Boolean.getBoolean("virtual")) {
            Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
            return (Thread) start.invoke(null, run);
        }
        Thread thread = new Thread(run);
        thread.start();
        return thread;
    }

    private static void ten() {
        try {
            for (int call = 0; call < 10; call++) {
                answer(call == 5 ? 30 : 1);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void answer(int millis) throws InterruptedException {
        Thread.sleep(millis);
    }

    private static void fast() {
        sink++;
    }
}
