import java.util.concurrent.CountDownLatch;

/** Ends while four threads are at work. */
public class PlainBusy {
    public static void main(String[] args) throws Exception {
        CountDownLatch all = new CountDownLatch(4);
        for (int i = 0; i < 4; i++) {
            Thread thread = new Thread(() -> {
                for (int turn = 0;; turn++) {
                    Work.work();
                    if (turn == 1) {
                        all.countDown();
                    }
                }
            }, "busy");
            thread.setDaemon(true);
            thread.start();
        }
        all.await();
    }
}
