package loadhook;

/** The sum of other trees. It takes no nodes from the limit, because the trees in the sum have taken as many. */
final class MergedTree extends TimedTree {
    /**
     * The {@link CpuTime} of all added threads; unknown if the processor time of one of them is
     * unknown.
     */
    long cpu;
    /**
     * The nanoseconds for which the ticks of the added trees stand, without ticks that were not added; see
     * {@link TimedTree#given}.
     */
    long given;
    /**
     * The nanoseconds whose ticks do not count. This time includes the whole time of trees whose ticks were not
     * added.
     */
    long refused;
    /** True if the calls of an added tree have no times. */
    boolean isUntimed;

    MergedTree() {
        super(Timing.COUNT, 32, 1);
    }

    @Override
    boolean takesNode() {
        return true;
    }

    @Override
    long given() {
        return given;
    }

    @Override
    long refused() {
        return refused;
    }

    /**
     * Takes over another tree, and its ticks unless most of them were refused. If an exception
     * interrupts this method, it can be called again.
     */
    @Override
    void adopt(TimedTree other) {
        boolean isAdded = !isMostlyRefused(other.given(), other.refused());
        given = isAdded ? other.given() : 0;
        refused = isAdded ? other.refused() : other.given() + other.refused();
        if (!isAdded) {
            other.ticks = NO_TICKS;
        }
        if (other.mode == Timing.EXACT) {
            keepTimed(other);
        }
        super.adopt(other);
    }

    /**
     * Stores the number of timed calls, which a path that times every call does not keep. This method can be
     * called again after an exception.
     */
    private static void keepTimed(TimedTree path) {
        TreeReader reader = new TreeReader(path);
        for (int node = STRIDE; node < reader.end; node += STRIDE) {
            path.times[2 * node + TIMED] = reader.value(node, TIMED);
        }
    }
}
