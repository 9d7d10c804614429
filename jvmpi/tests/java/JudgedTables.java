/**
 * Does what the tables of HPROF show: calls, objects, contended monitors, waits, and work in known proportions. The
 * argument is the number of slices of work.
 */
public class JudgedTables {
    static final int CALLS = 1000, THROWS = 300, ITEMS = 400, GONE = 3000, COPIES = 50;
    static final int GATES = 10, CALLERS = 3, BELLS = 4, WORKERS = 2;

    static final Object[] KEPT = new Object[ITEMS];
    static volatile Object last;
    static volatile long sink;

    public static void main(String[] args) throws Exception {
        loop();
        caught();
        objects();
        for (int i = 0; i < GATES; i++) {
            gate();
        }
        door();
        ring();
        work(Integer.parseInt(args[0]));
        System.out.println("done");
    }

    // Calls

    static void loop() {
        for (int i = 0; i < CALLS; i++) {
            sink = step(i);
        }
    }

    static int step(int i) {
        return i % 2 == 0 ? even(i) : i;
    }

    static int even(int i) {
        return i / 2;
    }

    static class Fault extends RuntimeException {
        Fault() {
            super(null, null, false, false);
        }
    }

    static void caught() {
        for (int i = 0; i < THROWS; i++) {
            try {
                fail();
            } catch (Fault fault) {
                sink = i;
            }
        }
    }

    static void fail() {
        throw new Fault();
    }

    // Objects

    static class Item {
        long number;
    }

    static class Gone implements Cloneable {
        int first, second, third;

        Gone copy() throws CloneNotSupportedException {
            return (Gone) clone();
        }
    }

    static void objects() throws Exception {
        keep();
        drop();
        copies();
        arrays();
        reflects();
    }

    static Item make() {
        return new Item();
    }

    static void keep() {
        for (int i = 0; i < ITEMS; i++) {
            KEPT[i] = make();
        }
    }

    static void drop() {
        for (int i = 0; i < GONE; i++) {
            last = i % 3 == 0 ? make() : new Gone();
        }
        last = null;
    }

    static void copies() throws CloneNotSupportedException {
        Gone first = new Gone();
        for (int i = 0; i < COPIES; i++) {
            KEPT[i] = first.copy();
        }
    }

    static void arrays() {
        for (int i = COPIES; i < 2 * COPIES; i++) {
            last = new int[i];
            last = new Gone[i];
            KEPT[i] = new Item[i];
            KEPT[i + COPIES] = new byte[1000];
        }
        last = null;
    }

    static void reflects() throws ReflectiveOperationException {
        for (int i = 0; i < COPIES; i++) {
            last = Item.class.getDeclaredConstructor().newInstance();
        }
        last = null;
    }

    // Monitors

    static class Gate {}

    static class Door {}

    static class Bell {}

    static final Gate GATE = new Gate();
    static final Door DOOR = new Door();
    static final Bell BELL = new Bell();

    static class Caller extends Thread {
        @Override
        public void run() {
            enterDoor();
        }
    }

    static class Visitor extends Thread {
        @Override
        public void run() {
            enterGate();
        }
    }

    static void enterDoor() {
        synchronized (DOOR) {
            sink = 1;
        }
    }

    static void enterGate() {
        synchronized (GATE) {
            sink = 2;
        }
    }

    static void gate() throws InterruptedException {
        Thread visitor = new Visitor();
        synchronized (GATE) {
            visitor.start();
            awaitBlocked(visitor);
            // A wait that is long beside what the profilers do meanwhile.
            spin(12);
        }
        visitor.join();
    }

    static void door() throws InterruptedException {
        Thread[] callers = new Thread[CALLERS];
        synchronized (DOOR) {
            for (int i = 0; i < CALLERS; i++) {
                callers[i] = new Caller();
                callers[i].start();
                awaitBlocked(callers[i]);
            }
            spin(12);
        }
        for (Thread caller : callers) {
            caller.join();
        }
    }

    static void awaitBlocked(Thread thread) {
        while (thread.getState() != Thread.State.BLOCKED) {
            Thread.yield();
        }
    }

    static void ring() throws InterruptedException {
        synchronized (BELL) {
            for (int i = 0; i < BELLS; i++) {
                BELL.wait(2);
            }
        }
    }

    // Work

    /** Each worker does slices of equal length in three methods, in an order that repeats in no clock's rhythm. */
    static class Worker extends Thread {
        final int slices;
        long seed;

        Worker(int slices, long seed) {
            this.slices = slices;
            this.seed = seed;
        }

        @Override
        public void run() {
            for (int i = 0; i < slices; i++) {
                seed = seed * 6364136223846793005L + 1442695040888963407L;
                int drawn = (int) (seed >>> 33) % 10;
                if (drawn < 6) {
                    sink = often(seed);
                } else if (drawn < 9) {
                    sink = sometimes(seed);
                } else {
                    sink = seldom(seed);
                }
            }
        }
    }

    static final int SLICE = 1_000_000;

    static long often(long own) {
        for (int i = 0; i < SLICE; i++) {
            own = own * 31 + i;
        }
        return own;
    }

    static long sometimes(long own) {
        for (int i = 0; i < SLICE; i++) {
            own = own * 31 + i;
        }
        return own;
    }

    static long seldom(long own) {
        for (int i = 0; i < SLICE; i++) {
            own = own * 31 + i;
        }
        return own;
    }

    static void spin(int slices) {
        for (int i = 0; i < slices; i++) {
            sink = seldom(i);
        }
    }

    static void work(int slices) throws InterruptedException {
        Worker[] workers = new Worker[WORKERS];
        for (int i = 0; i < WORKERS; i++) {
            workers[i] = new Worker(slices / WORKERS, 20 + i);
            workers[i].start();
        }
        for (Worker worker : workers) {
            worker.join();
        }
    }
}
