package heap;

import java.util.concurrent.CountDownLatch;

/** Many threads, which wait. */
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
        // What each takes of its stack is taken then.
        running.await();
        System.out.println("waiting");
        // Until nobody can end it any more.
        System.exit(System.in.read() < 0 ? 0 : 1);
    }
}
