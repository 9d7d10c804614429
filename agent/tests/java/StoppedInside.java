import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** Stops threads while they are inside the tracker; most of them hold its lock. */
public final class StoppedInside {
    private static Method threadEnd;
    private static volatile boolean begun;

    static void leaf() {
    }

    static void works() {
        leaf();
    }

    /** Seems a new thread to the tracker again and again, and so is stopped in the code that registers threads. */
    private static void begins() {
        Thread thread = Thread.currentThread();
        try {
            while (true) {
                leaf();
                begun = true;
                threadEnd.invoke(null, thread);
            }
        } catch (InvocationTargetException stopped) {
            // The thread was stopped in the right place.
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    @SuppressWarnings({"deprecation", "removal"})
    private static void stop(int spins) throws InterruptedException {
        Thread thread = new Thread(StoppedInside::begins);
        thread.setUncaughtExceptionHandler((stopped, error) -> { });
        begun = false;
        thread.start();
        while (!begun) {
            Thread.onSpinWait();
        }
        for (int spin = 0; spin < spins; spin++) {
            Thread.onSpinWait();
        }
        thread.stop();
        thread.join();
    }

    public static void main(String[] args) throws Exception {
        threadEnd = Class.forName("java.lang.$Loadhook").getMethod("threadEnd", Thread.class);
        for (int turn = 0; turn < 1000; turn++) {
            stop(turn % 300);
        }
        works();
        Thread thread = new Thread(StoppedInside::works);
        thread.start();
        thread.join();
        System.out.println("works");
    }
}
