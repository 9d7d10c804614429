import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that wait for each other in all ways, a known number of times. While others wait, the main thread has what they
 * wait for for at least 20 ms. Virtual threads are made by reflection, because the class is compiled for JDK 11.
 */
public final class Locks {
    interface Action {
        void run() throws InterruptedException;
    }

    static final class Gate {}

    static final class VirtualGate {}

    static final class Bell {}

    static final Gate gate = new Gate();
    static final VirtualGate virtualGate = new VirtualGate();
    static final Bell bell = new Bell();
    static final ReentrantLock lock = new ReentrantLock();
    static final ReentrantLock fairLock = new ReentrantLock(true);
    static final Condition condition = lock.newCondition();
    static final Semaphore permits = new Semaphore(0);
    static final CountDownLatch latch = new CountDownLatch(1);

    static void enterGate() {
        synchronized (gate) {
            check();
        }
    }

    static void enterVirtually() {
        synchronized (virtualGate) {
            check();
        }
    }

    static void takeLock() {
        lock.lock();
        check();
        lock.unlock();
    }

    static void takeVirtually() {
        fairLock.lock();
        check();
        fairLock.unlock();
    }

    static void takePermit() throws InterruptedException {
        permits.acquire();
    }

    static void awaitLatch() throws InterruptedException {
        latch.await();
    }

    static void awaitCondition() throws InterruptedException {
        lock.lock();
        condition.await();
        lock.unlock();
    }

    static void awaitBell() throws InterruptedException {
        synchronized (bell) {
            bell.wait();
        }
    }

    static void check() {
        if (Thread.currentThread().isInterrupted()) {
            throw new IllegalStateException();
        }
    }

    static Runnable runnable(Action action) {
        return () -> {
            try {
                action.run();
            } catch (InterruptedException gone) {
                throw new IllegalStateException(gone);
            }
        };
    }

    static Thread started(boolean isVirtual, Action action) throws Exception {
        if (isVirtual) {
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, runnable(action));
        }
        Thread thread = new Thread(runnable(action), "waits-1");
        thread.start();
        return thread;
    }

    /** Starts threads one after the other, each when the one before waits. */
    static Thread[] waiting(int count, boolean isVirtual, Thread.State state, Action action) throws Exception {
        Thread[] threads = new Thread[count];
        for (int at = 0; at < count; at++) {
            threads[at] = started(isVirtual, action);
            while (threads[at].getState() != state) {
                Thread.sleep(1);
            }
        }
        // The agent asks for the holder of a lock when a thread has waited for a while.
        Thread.sleep(400);
        return threads;
    }

    static void join(Thread[] threads) throws InterruptedException {
        for (Thread thread : threads) {
            thread.join();
        }
    }

    static void holdGate(boolean isVirtual, Object gate, int count, Action action) throws Exception {
        Thread[] threads;
        synchronized (gate) {
            threads = waiting(count, isVirtual, Thread.State.BLOCKED, action);
        }
        join(threads);
    }

    static void holdLock(boolean isVirtual, ReentrantLock lock, int count, Action action) throws Exception {
        lock.lock();
        Thread[] threads = waiting(count, isVirtual, Thread.State.WAITING, action);
        lock.unlock();
        join(threads);
    }

    public static void main(String[] args) throws Exception {
        holdGate(false, gate, 3, Locks::enterGate);
        holdLock(false, lock, 4, Locks::takeLock);
        Thread[] threads = waiting(2, false, Thread.State.WAITING, Locks::takePermit);
        permits.release(2);
        join(threads);
        threads = waiting(1, false, Thread.State.WAITING, Locks::awaitLatch);
        latch.countDown();
        join(threads);
        threads = waiting(1, false, Thread.State.WAITING, Locks::awaitCondition);
        lock.lock();
        condition.signal();
        lock.unlock();
        join(threads);
        threads = waiting(1, false, Thread.State.WAITING, Locks::awaitBell);
        synchronized (bell) {
            bell.notify();
        }
        join(threads);
        if (args.length > 0) {
            holdLock(true, fairLock, 5, Locks::takeVirtually);
            holdGate(true, virtualGate, 2, Locks::enterVirtually);
        }
        System.out.println("done");
    }
}
