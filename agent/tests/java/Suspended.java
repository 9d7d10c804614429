import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;

/** A thread holds the tracker's lock and does not run. */
public final class Suspended {
    private static Class<?> lock;

    static void leaf() {
    }

    /** Makes calls in a new thread, which has not run a probe before. */
    static void works() throws InterruptedException {
        Thread thread = new Thread(Suspended::leaf);
        thread.start();
        thread.join();
    }

    private static Field field(String name) throws Exception {
        Field field = lock.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    /** Starts a thread that takes the tracker's lock and then acts as if it were suspended, until {@code end}. */
    static Thread holder(CountDownLatch end) throws Exception {
        CountDownLatch held = new CountDownLatch(1);
        Method take = lock.getDeclaredMethod("take", Thread.class);
        take.setAccessible(true);
        Field holder = field("holder");
        Field given = field("given");
        Thread thread = new Thread(() -> {
            try {
                long ticket = (Long) take.invoke(null, Thread.currentThread());
                held.countDown();
                end.await();
                holder.set(null, null);
                given.setLong(null, ticket);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        thread.setDaemon(true);
        thread.start();
        held.await();
        return thread;
    }

    /**
     * Starts a thread that acts as if an exception had stopped it when it held the lock but had not noted so. Then the
     * thread runs its first probe.
     */
    static void left() throws Exception {
        Method take = lock.getDeclaredMethod("tryTake", Thread.class);
        take.setAccessible(true);
        Thread thread = new Thread(() -> {
            try {
                take.invoke(null, Thread.currentThread());
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
            leaf();
        });
        thread.start();
        thread.join();
    }

    /** Suspends threads that are starting, until one of them holds the tracker's lock. */
    @SuppressWarnings({"deprecation", "removal"})
    static void suspend() throws Exception {
        Field holder = field("holder");
        for (long turn = 0;; turn++) {
            Thread thread = new Thread(Suspended::leaf);
            thread.setDaemon(true);
            thread.start();
            for (long wait = turn % 1000; wait > 0; wait--) {
                holder.get(null);
            }
            thread.suspend();
            if (holder.get(null) == thread) {
                return;
            }
            thread.resume();
            thread.join();
        }
    }

    public static void main(String[] args) throws Exception {
        leaf();
        lock = Class.forName("java.lang.$LoadhookLock");
        CountDownLatch end = new CountDownLatch(1);
        Thread thread = null;
        if (args[0].equals("suspend")) {
            suspend();
        } else if (args[0].equals("left")) {
            left();
        } else {
            thread = holder(end);
        }
        works();
        System.out.println("works");
        if (args[0].equals("exit")) {
            System.exit(7);
        } else if (args[0].equals("give")) {
            end.countDown();
            thread.join();
            works();
        }
    }
}
