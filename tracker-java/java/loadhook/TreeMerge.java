package loadhook;

/**
 * Adds a tree to a sum, node by node. A StackOverflowError, or the exception of {@code Thread.stop}, may interrupt
 * this anywhere. The next run continues after the last node that was added, so that
 * no node is missing or added twice.
 *
 * If the ticks of most of the tree's time were refused, none of its ticks are added, and all its time is refused in the sum.
 * The sum keeps the ticks of other trees; whether they count depends on the whole time of the sum.
 */
final class TreeMerge {
    final MergedTree sum;
    private final TreeReader source;
    /**
     * For each node of the source, the node of the sum. Null if there was no room for this array; all calls then
     * count as overflow.
     */
    private final int[] map;
    private final int nodesBefore;
    /** The first node of the source that is not added yet. */
    private int next = Tree.STRIDE;

    /**
     * Makes a merge. {@code map} has room for the source's nodes. No other merge may use it until all nodes are
     * added.
     */
    TreeMerge(MergedTree sum, TreeReader source, int[] map) {
        this.sum = sum;
        this.source = source;
        this.map = map;
        nodesBefore = sum.taken();
        if (map != null) {
            map[Tree.ROOT] = Tree.ROOT;
        }
    }

    void run() {
        MergedTree sum = this.sum;
        TreeReader source = this.source;
        while (next < source.end) {
            int node = next;
            int place = place(node);
            int at = 2 * place;
            long calls = source.calls(node) * Tree.CALL;
            long timed = source.value(node, Tree.TIMED);
            long all = source.value(node, Tree.ALL);
            long nested = source.value(node, Tree.NESTED);
            long child = source.value(node, Tree.CHILD);
            long tickNanos = source.ticks(node, 0);
            long tickSquares = source.ticks(node, 1);
            boolean ticked = tickNanos != 0 && sum.roomForTicks();
            long[] ticks = sum.ticks;
            long[] times = sum.times;
            double variance = Double.longBitsToDouble(times[at + Tree.VARIANCE]) + source.variance(node);
            long bits = Double.doubleToRawLongBits(variance);
            if (place == Tree.ROOT) {
                // No call and no jump may stand below: after an exception, the next run would add the node again.
                sum.lost += calls / Tree.CALL;
                next = node + Tree.STRIDE;
                continue;
            }
            // No call and no jump may stand below: after an exception, the next run would add the node again.
            times[at + Tree.GRANTED] += calls;
            times[at + Tree.TIMED] += timed;
            times[at + Tree.ALL] += all;
            times[at + Tree.NESTED] += nested;
            times[at + Tree.CHILD] += child;
            times[at + Tree.VARIANCE] = bits;
            if (ticked) {
                ticks[place / 2] += tickNanos;
                long squares = ticks[place / 2 + 1] + tickSquares;
                ticks[place / 2 + 1] = squares < 0 ? Long.MAX_VALUE : squares;
            }
            next = node + Tree.STRIDE;
        }
        if (source.isTickless()) {
            sum.loseTicks();
        }
        if (next == source.end) {
            // No call and no jump may stand below: after an exception, the next run would add this again.
            sum.lost += source.lost;
            sum.given += source.given;
            sum.refused += source.refused;
            next++;
        }
    }

    /** Finds or makes the node of the sum for a node of the source. Returns the root if there is no room for a leaf. */
    private int place(int node) {
        boolean leaf = source.isLeaf(node);
        if (map == null) {
            return leaf ? Tree.ROOT : sum.overflow();
        }
        int method = source.method(node);
        int from = map[source.parent(node) / Tree.STRIDE];
        if (leaf) {
            return sum.leaf(from, method);
        }
        int place = method == Tree.OVERFLOW ? sum.overflow() : sum.child(from, method);
        map[node / Tree.STRIDE] = place;
        return place;
    }

    /** Returns the number of nodes that the merge has added to the sum. */
    int made() {
        return sum.taken() - nodesBefore;
    }
}
