package loadhook;

/**
 * Calls three methods whose true time is known. A probe costs 4 ns, and a reading of the clock 20 ns. Prints one line
 * for each node: timing, parent, calls, timed, ALL, OUTERMOST, CHILD.
 */
public final class Costs {
    private static final int PROBE = 4;
    private static final int READ = 20;

    private final Path path;

    private Costs(int timing) {
        path = new Path(timing, 8, 8, 1);
    }

    public static void main(String[] args) {
        Clock.cost = READ;
        for (int timing : new int[] {Timing.ADAPTIVE, Timing.EXACT}) {
            Costs costs = new Costs(timing);
            costs.root();
            costs.print(timing);
        }
    }

    private void root() {
        enter(0);
        Clock.time += 5000;
        for (int call = 0; call < 2000; call++) {
            middle();
        }
        exit(0);
    }

    private void middle() {
        enter(1);
        Clock.time += 500;
        for (int call = 0; call < 10; call++) {
            enter(2);
            Clock.time += 10;
            exit(2);
        }
        exit(1);
    }

    private void enter(int method) {
        Clock.time += PROBE / 2;
        path.enter(method);
    }

    private void exit(int method) {
        path.exit(method);
        Clock.time += PROBE / 2;
    }

    private void print(int timing) {
        TreeReader reader = new TreeReader(path);
        for (int node = Tree.STRIDE; node < reader.end; node += Tree.STRIDE) {
            System.out.println(timing + " " + (reader.parent(node) / Tree.STRIDE - 1) + " " + reader.calls(node) + " "
                    + reader.value(node, Tree.TIMED) + " " + reader.value(node, Tree.ALL) + " "
                    + reader.choose(node).outermost() + " " + reader.value(node, Tree.CHILD));
        }
    }
}
