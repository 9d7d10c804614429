import java.util.concurrent.CyclicBarrier;

/** Eight threads reach the first probes of the program at the same time. */
public class PlainStart {
    public static void main(String[] args) throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(8);
        Thread[] threads = new Thread[8];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                try {
                    barrier.await();
                } catch (Exception e) {
                    throw new Error(e);
                }
                Work.work();
            }, "starter");
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
