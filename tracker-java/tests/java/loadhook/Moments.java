package loadhook;

/**
 * Reads a path while its thread changes it: while it replaces its arrays by longer ones, and while it books calls. Every
 * booked call is inside another call of its node, so the node has no time outside of itself.
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

    /** A reader may see any of the arrays before it was replaced, and the others after. */
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
            // The call that is being booked may be in one of both sums.
            long outermost = reader.choose(node).outermost();
            if (outermost > NANOS) {
                throw new AssertionError(outermost + " ns outside at reading " + read);
            }
        }
        done = true;
        writer.join();
    }
}
