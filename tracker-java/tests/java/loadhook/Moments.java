package loadhook;

/**
 * Reads a path while its thread changes it: while the thread replaces arrays by longer ones, and while it adds the time
 * of a call to a node. All such calls run inside another call of the same node, so the node gets no additional time of
 * outermost calls.
 */
public final class Moments {
    private static final int READS = 2000000;
    private static final int NANOS = 1000;

    private static volatile boolean done;

    private Moments() {
    }

    public static void main(String[] args) throws Exception {
        Tracker.configure(Timing.ADAPTIVE, 0, 1000);
        arrays();
        times();
        System.out.println("whole");
        System.exit(0);
    }

    /**
     * Reads a path while arrays are replaced: one array is still the older one, the others are the
     * newer ones.
     */
    private static void arrays() {
        for (int older = 0; older < 4; older++) {
            Path path = new Path(Timing.ADAPTIVE, 64, 4, 1);
            long[] back = path.back;
            long[] stamps = path.stamps;
            byte[] weights = path.weights;
            for (int method = 0; method < 12; method++) {
                path.enter(method);
            }
            path.back = older == 1 ? back : path.back;
            path.stamps = older == 2 ? stamps : path.stamps;
            path.weights = older == 3 ? weights : path.weights;
            int depth = new Frames(path).depth;
            if (depth != (older == 0 ? 12 : 5)) {
                throw new AssertionError(depth + " frames with the older array " + older);
            }
            TreeReader.of(path);
        }
    }

    private static void times() throws Exception {
        Path path = new Path(Timing.EXACT, 4, 4, 1);
        path.enter(0);
        path.enter(0);
        int node = Path.node(path.back[1]);
        Thread writer = new Thread(() -> {
            while (!done) {
                path.book(node, node, NANOS);
            }
        });
        writer.start();
        TreeReader reader = new TreeReader(path);
        for (int read = 0; read < READS; read++) {
            // The call whose time is being added may be in one of the two sums only.
            long outermost = reader.choose(node).outermost();
            if (outermost > NANOS) {
                throw new AssertionError(outermost + " ns outside at reading " + read);
            }
        }
        done = true;
        writer.join();
    }
}
