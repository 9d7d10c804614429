package loadhook;

/** The sum of other trees. It has no more nodes than they, who have taken theirs of the limit. */
final class MergedTree extends TimedTree {
    /** The {@link CpuTime} of the threads that were added; unknown if that of one is. */
    long cpu;

    MergedTree() {
        super(Timing.COUNT, 32, 1);
    }

    @Override
    boolean takesNode() {
        return true;
    }
}
