/** Beats in many threads, some of which end, until its standard input ends or for as many rounds as told. */
public final class Beats {
    static int beats;

    static void beat() {
        beats++;
    }

    static void bar() {
        for (int i = 0; i < 1000; i++) {
            beat();
        }
    }

    static void shortLived() throws InterruptedException {
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(Beats::bar, "short-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    static void forEver() {
        for (;;) {
            bar();
        }
    }

    public static void main(String[] args) throws Exception {
        if (args.length == 1) {
            for (int i = Integer.parseInt(args[0]); i > 0; i--) {
                bar();
                shortLived();
            }
            System.out.println("done");
            return;
        }
        for (int i = 0; i < 2; i++) {
            // The name that the snapshots' own thread has: before JDK 19 the two share a place in the tracker's cache.
            Thread thread = new Thread(Beats::forEver, "loadhook snapshot");
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("ready");
        Thread reader = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                }
            } catch (java.io.IOException e) {
                throw new IllegalStateException(e);
            }
            System.exit(9);
        });
        reader.start();
        for (;;) {
            shortLived();
        }
    }
}
