package loadhook;

/** The sum of other trees. It takes no nodes of the limit: the trees that it sums up have taken as many. */
final class MergedTree extends TimedTree {
    /** The {@link CpuTime} of all added threads; unknown if that of one is. */
    long cpu;

    MergedTree() {
        super(Timing.COUNT, 32, 1);
    }

    @Override
    boolean takesNode() {
        return true;
    }
}
