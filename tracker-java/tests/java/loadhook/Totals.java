package loadhook;

/** Runs a recursion with known times. Its total times are read while it runs, and at its end. */
public final class Totals {
    private Totals() {
    }

    public static void main(String[] args) {
        Path path = new Path(Timing.EXACT, 8, 8, 1);
        path.enter(0);
        Clock.time += 20;
        path.enter(1);
        for (int call = 1; call < 10; call++) {
            Clock.time += 60;
            path.enter(1);
        }
        Clock.time += 60;
        for (int call = 0; call < 5; call++) {
            Clock.time += 40;
            path.exit(1);
        }
        print("under way", path);
        for (int call = 0; call < 5; call++) {
            Clock.time += 40;
            path.exit(1);
        }
        Clock.time += 30;
        path.exit(0);
        print("calls all outermost child", path);
    }

    private static void print(String title, Path path) {
        System.out.println(title);
        TreeReader reader = TreeReader.of(path);
        for (int node = Tree.STRIDE; node < reader.end; node += Tree.STRIDE) {
            System.out.println(reader.calls(node) + " " + reader.value(node, Tree.ALL) + " "
                    + reader.choose(node).outermost() + " " + reader.value(node, Tree.CHILD));
        }
    }
}
