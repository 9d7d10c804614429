/** The numbers that the judges must find, printed when {@link Judged} has done everything. */
final class JudgedNumbers {
    private JudgedNumbers() {}

    private static void edge(String caller, String callee, int count) {
        System.out.println("edge Judged." + caller + " > Judged" + callee + " " + count);
    }

    private static void total(String name, int count) {
        System.out.println("total " + name + " " + count);
    }

    static void print() {
        edge("main", ".calls", 1);
        edge("calls", ".leaf", Judged.CALLS);
        edge("calls", ".recursive", 1);
        edge("recursive", ".recursive", 10);
        edge("exceptions", ".catches", Judged.THROWS);
        edge("catches", ".passes", Judged.THROWS);
        edge("passes", ".throwsAlways", Judged.THROWS);
        edge("throwsAlways", "$Fault.<init>", Judged.THROWS);
        edge("catches", ".after", Judged.THROWS);
        edge("constructors", "$Failing.<init>", Judged.CONSTRUCTIONS);
        edge("constructors", ".after", Judged.CONSTRUCTIONS / 2);
        System.out.println("edge Judged$Failing.<init> > Judged$Failing.check " + Judged.CONSTRUCTIONS);
        System.out.println("edge Judged$Failing.<init> > Judged$Base.<init> " + Judged.CONSTRUCTIONS / 2);
        edge("overflow", ".afterOverflow", 1);
        System.out.println("edge Judged$Worker.run > Judged$Worker.work " + Judged.WORKERS * Judged.WORK);
        edge("makesItems", "$Item.<init>", Judged.ITEMS);
        edge("clones", "$Item.copy", Judged.CLONES);
        edge("chain", "$Node.<init>", Judged.NODES);
        System.out.println("edge Judged$Node.<init> > Judged$Origin.<init> " + Judged.NODES);
        total("branches-taken", 3);
        total("table-keys", 4 + 5 + 6 + 7 + 8 + 9);
        // The default counts as the pair behind the last one.
        total("lookup-pairs", 3 + 0 + 3 + 1 + 3 + 3);
        total("threads-worker", Judged.WORKERS);
        int contended = Judged.ROUNDS + (System.getProperty("judged.marker") == null ? 0 : 1);
        total("threads-contender", contended);
        total("contended", contended);
        total("waits", Judged.waits);
        total("sleeps", Judged.SLEEPS);
        total("allocated-Judged$Item", Judged.ITEMS + Judged.REFLECTED + Judged.CLONES);
        total("live-Judged$Item", Judged.KEPT);
        total("site-Judged.makesItems", Judged.ITEMS);
        total("site-Judged.reflects", Judged.REFLECTED);
        total("site-Judged$Item.copy", Judged.CLONES);
        total("large-arrays", Judged.LARGE);
        total("arrays-Judged$Item", Judged.ITEM_ARRAYS);
        total("loads-Judged$Loaded", Judged.LOADERS);
        total("unloads-Judged$Loaded", Judged.LOADERS);
        total("nodes", Judged.NODES);
        total("collections", Judged.COLLECTIONS);
    }
}
