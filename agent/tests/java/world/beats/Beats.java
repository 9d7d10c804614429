/** Calls a method in many threads, some of which end, until its input ends or for a number of rounds. */
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
            if (i == 1) {
                threads[1] = beside(threads[0].getId(), Beats::bar, "short-1");
            }
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    /** Makes a thread that shares a slot of the tracker's cache with the thread {@code id}: the lowest 12 bits of both ids agree. */
    static Thread beside(long id, Runnable body, String name) {
        Thread thread;
        do {
            thread = new Thread(body, name);
        } while ((thread.getId() - id & 4095) != 0);
        return thread;
    }

    static void forEver() {
        try {
            for (;;) {
                bar();
                Thread.sleep(1);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
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
        // Choose ids above those of all earlier threads, among them the thread that takes snapshots.
        long first = new Thread().getId();
        for (long id = 1; id < first; id++) {
            Thread thread = beside(id, Beats::forEver, "beside");
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
