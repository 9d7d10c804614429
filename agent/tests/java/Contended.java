import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.locks.ReentrantLock;

/** Threads that wait for each other all the time, while an agent comes and leaves. */
public final class Contended {
    static final Object monitor = new Object();
    static final ReentrantLock lock = new ReentrantLock();

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
            Thread.sleep(200);
            boolean areAlive = true;
            for (Thread thread : threads) {
                areAlive &= thread.isAlive();
            }
            // A thread that an error ends is not alive.
            System.out.println(areAlive ? "done" : "none");
        }
    }
}
