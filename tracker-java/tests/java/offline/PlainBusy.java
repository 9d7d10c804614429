import java.util.concurrent.CountDownLatch;

/** Ends while four threads are at work. */
public class PlainBusy {
    public static void main(String[] args) throws Exception {
        CountDownLatch begun = new CountDownLatch(4);
        for (int i = 0; i < 4; i++) {
            Thread thread = new Thread(() -> {
                while (true) {
                    Work.work();
                    begun.countDown();
                }
            }, "busy");
            thread.setDaemon(true);
            thread.start();
        }
        begun.await();
        Thread.sleep(300);
    }
}
