import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

/** Threads that wait for each other all the time, while an agent comes and leaves. */
public final class Contended {
    /** The order "work" is done after this number of naps, however long they take. */
    static final int NAPS = 120;

    static final Object monitor = new Object();
    static final ReentrantLock lock = new ReentrantLock();
    static final AtomicInteger naps = new AtomicInteger();

    static void work() {
        while (true) {
            synchronized (monitor) {
                nap();
            }
            lock.lock();
            try {
                nap();
            } finally {
                lock.unlock();
            }
        }
    }

    static void nap() {
        try {
            Thread.sleep(1);
            naps.incrementAndGet();
        } catch (InterruptedException gone) {
            throw new IllegalStateException(gone);
        }
    }

    public static void main(String[] args) throws Exception {
        Thread[] threads = new Thread[4];
        for (int at = 0; at < threads.length; at++) {
            threads[at] = new Thread(Contended::work);
            threads[at].setDaemon(true);
            threads[at].start();
        }
        System.out.println("ready");
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        while (orders.readLine().equals("work")) {
            boolean areAlive = true;
            for (int end = naps.get() + NAPS; areAlive && naps.get() - end < 0; Thread.sleep(5)) {
                for (Thread thread : threads) {
                    areAlive &= thread.isAlive();
                }
            }
            // A thread that an error ends is not alive.
            System.out.println(areAlive ? "done" : "none");
        }
    }
}
