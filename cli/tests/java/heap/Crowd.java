package heap;

import java.util.concurrent.CountDownLatch;

/** A program with many threads that wait. */
public final class Crowd {
    public static void main(String[] arguments) throws Exception {
        int threads = Integer.parseInt(arguments[0]);
        CountDownLatch running = new CountDownLatch(threads);
        for (int i = 0; i < threads; i++) {
            Thread thread =
                    new Thread(
                            () -> {
                                running.countDown();
                                try {
                                    Thread.sleep(Long.MAX_VALUE);
                                } catch (InterruptedException end) {
                                    return;
                                }
                            });
            thread.setDaemon(true);
            thread.start();
        }
        // When all threads have come here, each has used as much of its stack as it ever will.
        running.await();
        System.out.println("waiting");
        // Waits until standard input ends, so that the program never outlives its test.
        System.exit(System.in.read() < 0 ? 0 : 1);
    }
}
