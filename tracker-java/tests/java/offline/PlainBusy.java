/** Ends while four threads are at work. */
public class PlainBusy {
    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 4; i++) {
            Thread thread = new Thread(() -> {
                while (true) {
                    Work.work();
                }
            }, "busy");
            thread.setDaemon(true);
            thread.start();
        }
        Thread.sleep(300);
    }
}
