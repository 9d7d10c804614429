package loadhook;

/**
 * A thread's times as users read them: without the cost of probes, never negative, and adding up. The module
 * {@code figures} of the crate {@code loadhook-profile} explains the calculation. That module and this class give
 * the same numbers to the last bit, so the order of additions must stay.
 */
final class Figures {
    final double[] self;
    final double[] total;

    final ThreadNodes nodes;
    final int count;
    /**
     * For each node, the outermost recursive node on the way from the root to it; -1 if there is
     * none.
     */
    final int[] recursion;
    /** For each node, true if the times of all its calls are known. */
    final boolean[] linked;

    Figures(ThreadNodes nodes, Header header) {
        this.nodes = nodes;
        count = nodes.count;
        self = new double[count];
        total = new double[count];
        recursion = new int[count];
        linked = new boolean[count];
        if (header.timing != Timing.COUNT) {
            for (int at = 0; at < count; at++) {
                int parent = nodes.parents[at];
                int above = parent < 0 ? -1 : recursion[parent];
                recursion[at] = above < 0 && nodes.all(at) > nodes.outermost(at) ? at : above;
                boolean sure = !header.isCpu() || nodes.isEstimated(at);
                linked[at] = nodes.timed(at) > 0 && (sure || nodes.timed(at) >= nodes.calls[at]);
            }
            spread(own(header));
        }
    }

    /**
     * Returns the share of a node's time that its outermost calls took. A call is outermost if no call of the
     * same method contains it. The share of outermost calls among the node's calls is about the same.
     */
    double share(int at) {
        long all = nodes.all(at);
        return all == 0 ? 1 : Math.min((double) nodes.outermost(at) / all, 1);
    }

    /** Returns each node's self time without probe costs, which can be negative. */
    private double[] own(Header header) {
        // For each node, the time of calls that went back to a node above.
        double[] back = new double[count];
        for (int at = 0; at < count; at++) {
            back[at] += nodes.child(at);
            int parent = nodes.parents[at];
            if (parent >= 0) {
                back[parent] -= nodes.outermost(at);
            }
        }
        double[] cost = cost(header, back, false);
        double[] own = new double[count];
        for (int at = 0; at < count; at++) {
            double rest = (double) nodes.all(at) - (double) nodes.child(at);
            own[at] = (nodes.timed(at) == 0 ? 0 : rest) - cost[at];
        }
        new SelfTimeEstimator(this, header, back, cost).settle(own);
        for (int at = 0; at < count; at++) {
            if (nodes.timed(at) == 0) {
                own[at] = 0;
            } else if (!linked[at]) {
                own[at] = Math.max(own[at], 0);
            }
        }
        return own;
    }

    /**
     * Returns the cost of probes in each node's self time. If {@code real}, the time comes from ticks, otherwise
     * from the times of calls, in which timed calls stand for untimed ones.
     */
    double[] cost(Header header, double[] back, boolean real) {
        double inside = header.insidePicos / 1000.0;
        double outside = header.outsidePicos / 1000.0;
        double read = header.clockPicos / 1000.0;
        double[] cost = new double[count];
        // For each outermost recursive node: the cost that recursive calls added, and the sum of {@code back}
        // over the nodes of the recursion.
        double[] pool = new double[count];
        double[] weight = new double[count];
        for (int at = 0; at < count; at++) {
            long timed = nodes.timed(at);
            long callsInside = real ? timed : nodes.calls[at];
            double within = inside * (timed == 0 ? 0 : callsInside);
            double added = outside * nodes.calls[at];
            cost[at] += within;
            if (timed > 0 && header.timing == Timing.ADAPTIVE) {
                added += 2 * read * timed - within;
            }
            double byParent = share(at);
            int parent = nodes.parents[at];
            if (parent >= 0) {
                cost[parent] += added * byParent;
            }
            if (recursion[at] >= 0) {
                pool[recursion[at]] += added * (1 - byParent);
                weight[recursion[at]] += Math.max(back[at], 0);
            }
        }
        for (int at = 0; at < count; at++) {
            int top = recursion[at];
            if (top >= 0 && weight[top] > 0) {
                cost[at] += pool[top] * Math.max(back[at], 0) / weight[top];
            }
        }
        return cost;
    }

    /** Turns {@code own} into self times that are not negative and add up, and into totals. */
    private void spread(double[] own) {
        // For each node, three sums over its subtree: own times, positive own times, and uncorrected times.
        double[] below = new double[count];
        double[] wanted = new double[count];
        double[] raw = new double[count];
        for (int at = count - 1; at >= 0; at--) {
            below[at] += own[at];
            wanted[at] += Math.max(own[at], 0);
            if (nodes.timed(at) > 0) {
                raw[at] += (double) nodes.all(at) - (double) nodes.child(at);
            }
            int parent = nodes.parents[at];
            if (parent >= 0) {
                if (nodes.timed(at) == 0 && linked[parent]) {
                    own[parent] -= below[at];
                }
                below[parent] += below[at];
                wanted[parent] += Math.max(below[at], 0);
                raw[parent] += raw[at];
            }
        }
        // From here on, the array holds the time that each subtree gets.
        double[] given = below;
        for (int at = 0; at < count; at++) {
            int parent = nodes.parents[at];
            if (parent >= 0) {
                given[at] = Math.max(given[at], 0) * granted(given[parent], wanted[parent]);
            } else if (given[at] <= 0) {
                given[at] = wanted[at];
            }
            self[at] = wanted[at] > 0 ? Math.max(own[at], 0) * granted(given[at], wanted[at]) : given[at];
            total[at] = given[at];
            int top = recursion[at];
            if (top >= 0) {
                double outside = Math.max(nodes.outermost(at) - raw[at], 0);
                double whole = given[at] + outside * Math.min(granted(given[top], raw[top]), 1);
                double limit = parent < 0 ? given[at] : total[parent];
                total[at] = Math.max(Math.min(whole, limit), given[at]);
            }
        }
    }

    private static double granted(double given, double wanted) {
        return wanted > 0 ? given / wanted : 0;
    }

    /** Returns the sum of self times at and below each node. */
    double[] below() {
        double[] below = self.clone();
        for (int at = count - 1; at >= 0; at--) {
            int parent = nodes.parents[at];
            if (parent >= 0) {
                below[parent] += below[at];
            }
        }
        return below;
    }
}
