/** Does what the tables of HPROF count: calls, exceptions, objects, and work. */
public final class Hprof {
    static final class Item {}

    static final class Gone {}

    static final Item[] items = new Item[1000];
    static volatile Object last;
    static volatile long sum;

    static int step(int at) {
        return at + 1;
    }

    static void loop() {
        int at = 0;
        while (at < 1000) {
            at = step(at);
        }
    }

    static void fail() {
        throw new IllegalStateException();
    }

    static void caught() {
        for (int at = 0; at < 300; at++) {
            try {
                fail();
            } catch (IllegalStateException expected) {
                sum++;
            }
        }
    }

    static void keep() {
        for (int at = 0; at < items.length; at++) {
            items[at] = new Item();
        }
    }

    static void drop() {
        for (int at = 0; at < 3000; at++) {
            last = new Gone();
        }
        last = null;
    }

    static void burn(long millis) {
        // A known amount of work, so that there is something to sample however busy the machine is.
        for (long left = 8 * millis; left > 0; left--) {
            long own = 0;
            for (int at = 0; at < 100_000; at++) {
                own = own * 31 + at;
            }
            sum += own;
        }
    }

    public static void main(String[] args) throws Exception {
        loop();
        caught();
        keep();
        drop();
        Thread thread = new Thread(() -> burn(Long.parseLong(args[0])), "burns");
        thread.start();
        thread.join();
        if (args.length > 1) {
            String process = Long.toString(ProcessHandle.current().pid());
            ProcessBuilder kill = new ProcessBuilder("kill", "-QUIT", process);
            if (args.length > 2) {
                // A second signal at once.
                kill.command().add(process);
            }
            kill.start().waitFor();
            while (!new java.io.File(args[1]).exists()) {
                Thread.sleep(5);
            }
            loop();
        }
        System.out.println("done");
    }
}
