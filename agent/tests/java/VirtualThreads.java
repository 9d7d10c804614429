import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.ReentrantLock;

/** Virtual threads that unmount inside methods. They are made by method handle, because the class is compiled for JDK 11. */
public final class VirtualThreads {
    static final int THREADS = 100000;

    static final class Enough extends RuntimeException {
        Enough() {
            super(null, null, false, false);
        }
    }

    static final ReentrantLock LOCK = new ReentrantLock();
    static final LinkedBlockingQueue<Integer> QUEUE = new LinkedBlockingQueue<>();

    static void leaf() {
    }

    static void task(int i, CountDownLatch all, CountDownLatch done) {
        try {
            leaf();
            all.countDown();
            waits(all, i);
            blocks(i);
        } catch (Enough e) {
            leaf();
        } finally {
            done.countDown();
        }
    }

    /** Waits until all threads of a batch are alive. */
    static void waits(CountDownLatch all, int i) {
        leaf();
        try {
            all.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        leaf();
    }

    static void blocks(int i) {
        try {
            switch (i % 4) {
                case 0: sleeps(); break;
                case 1: locks(); break;
                case 2: gives(i); break;
                default: takes(); break;
            }
            leaf();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        throw new Enough();
    }

    static void sleeps() throws InterruptedException {
        Thread.sleep(1);
        leaf();
    }

    static void locks() {
        LOCK.lock();
        try {
            Thread.yield();
            leaf();
        } finally {
            LOCK.unlock();
        }
    }

    static void gives(int i) {
        Thread.yield();
        QUEUE.add(i);
        leaf();
    }

    static void takes() throws InterruptedException {
        QUEUE.take();
        leaf();
    }

    static void batch(MethodHandle start, int from, int count) throws Throwable {
        CountDownLatch all = new CountDownLatch(count);
        CountDownLatch done = new CountDownLatch(count);
        for (int i = from; i < from + count; i++) {
            int number = i;
            Thread ignored = (Thread) start.invokeExact((Runnable) () -> task(number, all, done));
        }
        done.await();
    }

    public static void main(String[] args) throws Throwable {
        MethodHandle start = MethodHandles.lookup().findStatic(Thread.class, "startVirtualThread",
                MethodType.methodType(Thread.class, Runnable.class));
        for (int from = 0; from < THREADS; from += 20000) {
            batch(start, from, 20000);
        }
    }
}
