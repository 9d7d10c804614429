/** Suspends threads that only allocate, at any point, and never resumes them. */
public final class SuspendedRecording {
    static volatile Object sink;

    @SuppressWarnings({"deprecation", "removal"})
    public static void main(String[] args) throws Exception {
        Thread[] threads = new Thread[24];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                while (true) {
                    sink = new byte[16];
                }
            });
            threads[i].setDaemon(true);
            threads[i].start();
        }
        Thread.sleep(300);
        for (Thread thread : threads) {
            thread.suspend();
        }
        // Other threads allocate, before and during a liveness scan.
        Thread other = new Thread(() -> {
            for (int i = 0; i < 20_000; i++) {
                sink = new short[3];
            }
        });
        other.start();
        other.join();
        System.out.println("works");
    }
}
