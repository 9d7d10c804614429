package loadhook;

/**
 * Threads under the CPU clock. Ticks count if the thread works without waiting, interrupted by others or not. Ticks
 * are refused if the thread waits or yields after short turns. Prints for each case the time that the ticks of the
 * whole tree stand for, in milliseconds.
 */
public final class RefusedTicks {
    private static final long MILLI = 1000000;

    private RefusedTicks() {
    }

    public static void main(String[] args) {
        Clock.kind = Clock.CPU;
        // The thread has waited and worked for a long time when its first probe runs.
        Clock.time = 20000 * MILLI;
        Clock.waited = 80000 * MILLI;
        tick();

        print("worked", thread(200, 0, 0));
        print("interrupted", interrupted(200, MILLI, 0));
        print("interrupted often", interrupted(200, MILLI / 8, 0));
        print("yielding often", interrupted(200, MILLI / 100, 0));
        print("interrupted after waits", interrupted(200, MILLI / 2, 1));
        print("refused, then one accepted", thread(0, 100, 2));
        print("accepted, then refused", thread(2, 100, 0));
        print("most accepted at the end", thread(0, 100, 200));
        print("most accepted at the beginning", thread(200, 100, 0));
        print("refused for less than 30 ms", thread(0, 20, 5));

        Path again = thread(0, 100, 2);
        again.clear();
        // The path's next thread has just begun.
        Clock.waited += Clock.time;
        Clock.time = 0;
        run(again, 200, 0, 0);
        print("cleared, then worked", again);

        MergedTree sum = new MergedTree();
        for (int good = 0; good < 5; good++) {
            add(sum, thread(40, 0, 0));
        }
        print("group", sum);
        add(sum, thread(2, 100, 2));
        print("group with one refused", sum);
        add(sum, thread(2, 180, 2));
        print("group with two refused", sum);
        add(sum, thread(200, 0, 0));
        print("group with more accepted", sum);

        MergedTree small = new MergedTree();
        for (int each = 0; each < 10; each++) {
            add(small, thread(0, 20, 5));
        }
        print("group of short refused ones", small);

        MergedTree adopting = new MergedTree();
        adopting.adopt(thread(2, 100, 2));
        print("adopted refused", adopting);
        add(adopting, thread(200, 0, 0));
        print("adopted refused, then accepted", adopting);
        MergedTree adopted = new MergedTree();
        adopted.adopt(thread(200, 0, 0));
        add(adopted, thread(2, 100, 2));
        print("adopted accepted, then refused", adopted);

        Path roomless = thread(200, 0, 0);
        roomless.loseTicks();
        add(adopted, roomless);
        print("no room", adopted);
    }

    private static Path thread(int before, int inTurns, int after) {
        Path path = new Path(Timing.ADAPTIVE, 8, 8, 1);
        run(path, before, inTurns, after);
        return path;
    }

    /**
     * Works without interruption, then in turns, then without interruption again. The arguments are milliseconds of CPU
     * time.
     */
    private static void run(Path path, int before, int inTurns, int after) {
        path.enter(0);
        // The first call of a thread only reads the number of ticks, so it gets no time from them.
        work(path, 1);
        work(path, before);
        for (int turn = 0; turn < 100 * inTurns; turn++) {
            path.enter(2);
            Clock.time += MILLI / 100;
            path.exit(2);
            path.enter(3);
            Clock.waited += MILLI / 10;
            Clock.waits++;
            tick();
            path.exit(3);
        }
        work(path, after);
        path.exit(0);
    }

    /**
     * Works for milliseconds of CPU time, in turns that others end. Ticks come while the thread has no processor.
     * Before each turn the thread waits {@code waits} times.
     */
    private static Path interrupted(int millis, long turn, int waits) {
        Path path = thread(0, 0, 0);
        path.enter(0);
        for (long worked = 0; worked < millis * MILLI; worked += turn) {
            path.enter(2);
            Clock.waits += waits;
            path.exit(2);
            path.enter(1);
            Clock.time += turn;
            Clock.interruptions++;
            for (int tick = 0; tick < 9; tick++) {
                Clock.waited += MILLI;
                tick();
            }
            path.exit(1);
        }
        path.exit(0);
        return path;
    }

    private static void work(Path path, int millis) {
        for (int milli = 0; milli < millis; milli++) {
            path.enter(1);
            Clock.time += MILLI;
            tick();
            path.exit(1);
        }
    }

    private static void tick() {
        Ticker.tick(Clock.time + Clock.waited);
    }

    private static void add(MergedTree sum, Path path) {
        TreeReader reader = new TreeReader(path);
        new TreeMerge(sum, reader, new int[reader.end]).run();
    }

    private static void print(String title, TimedTree tree) {
        TreeReader reader = new TreeReader(tree);
        long nanos = 0;
        double variance = 0;
        for (int node = Tree.STRIDE; node < reader.end; node += Tree.STRIDE) {
            nanos += reader.ticks(node, 0);
            variance += Double.longBitsToDouble(reader.tickVarianceBits(node));
        }
        if (nanos > 0 != variance > 0) {
            throw new AssertionError(title + ": " + nanos + ", variance " + variance);
        }
        System.out.println(title + ": " + (nanos + MILLI / 2) / MILLI);
    }
}
