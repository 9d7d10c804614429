package loadhook;

/**
 * Computes the self times with the smallest error from the times of calls and from ticks.
 * {@code figures/ticks.rs} of the crate {@code loadhook-profile} explains the method and its names. That file and
 * this class give the same numbers to the last bit.
 */
final class SelfTimeEstimator {
    private static final int ROUNDS = 4;
    private static final double LEAST = 0.125;
    private static final double COST_ERROR = 0.1;

    private final ThreadNodes nodes;
    private final int count;
    private final boolean[] linked;
    /** For each node, the caller in whose rest ({@code y} in ticks.rs) the error of the node's time occurs, or -1. */
    private final int[] callers;
    private final double tick;
    /**
     * True if the variance of samples that contradict the ticks is taken to be larger than it was computed.
     */
    private final boolean wide;
    private double[] ticked;
    private final double[] weight;
    /** The standard error of the probe cost that was subtracted in each node. */
    private final double[] cost;
    private final double[] variance;
    private final double[] mean;
    private final double[] spread;
    private final double[] calleesMean;
    private final double[] calleesSpread;
    private final double[] error;

    SelfTimeEstimator(Figures figures, Header header, double[] back, double[] cost) {
        nodes = figures.nodes;
        count = figures.count;
        linked = figures.linked;
        callers = new int[count];
        weight = new double[count];
        mean = new double[count];
        spread = new double[count];
        calleesMean = new double[count];
        calleesSpread = new double[count];
        error = new double[count];
        this.cost = new double[count];
        double nanos = 0;
        double squares = 0;
        for (int at = 0; at < count; at++) {
            int parent = nodes.parents[at];
            callers[at] = parent >= 0 && nodes.timed(at) > 0 && linked[parent] ? parent : -1;
            nanos += nodes.ticked(at);
            squares += nodes.tickVariance(at);
        }
        tick = header.timing == Timing.ADAPTIVE && nanos > 0 ? squares / nanos : 0;
        variance = crossing(figures, back);
        if (tick > 0) {
            double[] real = figures.cost(header, back, true);
            ticked = new double[count];
            for (int at = 0; at < count; at++) {
                ticked[at] = (double) nodes.ticked(at) - real[at];
                this.cost[at] = header.isCpu() ? COST_ERROR * cost[at] : 0;
            }
            untimedToCallers();
        }
        wide = header.isCpu();
    }

    /** Moves times between callers and callees, so that the errors become as small as possible. */
    void settle(double[] own) {
        if (tick > 0) {
            if (wide) {
                widen(own);
            }
            double[] settled = ticked.clone();
            for (int round = 0; round < ROUNDS; round++) {
                round(own, settled);
            }
            for (int at = 0; at < count; at++) {
                if (linked[at]) {
                    own[at] = settled[at];
                }
            }
        }
    }

    private void untimedToCallers() {
        double[] below = ticked.clone();
        for (int at = count - 1; at >= 0; at--) {
            int parent = nodes.parents[at];
            if (parent >= 0) {
                below[parent] += below[at];
                if (nodes.timed(at) == 0) {
                    ticked[parent] += below[at];
                }
            }
        }
    }

    private void widen(double[] own) {
        double[] rest = own.clone();
        double[] ticked = this.ticked.clone();
        for (int at = count - 1; at >= 0; at--) {
            if (callers[at] >= 0) {
                rest[callers[at]] += rest[at];
                ticked[callers[at]] += ticked[at];
            }
            if (0 < nodes.timed(at) && nodes.timed(at) < nodes.calls[at]) {
                double apart = rest[at] - ticked[at];
                double shown = apart * apart - tick * Math.max(ticked[at], tick);
                variance[at] = Math.max(variance[at], shown);
            }
        }
    }

    private void round(double[] own, double[] settled) {
        for (int at = 0; at < count; at++) {
            weight[at] = tick * Math.max(settled[at], LEAST * tick);
            calleesMean[at] = 0;
            calleesSpread[at] = 0;
        }
        for (int at = count - 1; at >= 0; at--) {
            double variance = this.variance[at];
            double free = free(at) + calleesSpread[at];
            if (linked[at] && variance > 0) {
                double apart = own[at] - ticked[at] + calleesMean[at];
                mean[at] = apart * variance / (variance + free);
                spread[at] = variance * free / (variance + free);
            } else {
                mean[at] = 0;
                spread[at] = variance;
            }
            if (callers[at] >= 0) {
                calleesMean[callers[at]] += mean[at];
                calleesSpread[callers[at]] += spread[at];
            }
        }
        for (int at = 0; at < count; at++) {
            int caller = callers[at];
            if (caller >= 0) {
                double free = free(caller) + calleesSpread[caller];
                error[at] = mean[at] - apart(caller, own) * spread[at] / free;
            } else {
                error[at] = mean[at];
            }
            if (linked[at]) {
                settled[at] = ticked[at] + apart(at, own) * weight[at] / (free(at) + calleesSpread[at]);
            } else {
                settled[at] = own[at];
            }
        }
    }

    private double free(int at) {
        return weight[at] + cost[at] * cost[at];
    }

    private double apart(int at, double[] own) {
        return own[at] - ticked[at] + calleesMean[at] - error[at];
    }

    private double[] crossing(Figures figures, double[] back) {
        double[] variances = new double[count];
        // For each outermost recursive node: variance and time of its recursive calls.
        double[] uncertain = new double[count];
        double[] recursive = new double[count];
        // For each node, the time of recursive calls that crosses the edge to its caller.
        double[] upwards = new double[count];
        for (int at = count - 1; at >= 0; at--) {
            double share = figures.share(at);
            variances[at] = nodes.variance(at) * share * share;
            int top = figures.recursion[at];
            if (top >= 0) {
                double again = Math.max((double) nodes.all(at) - (double) nodes.outermost(at), 0);
                uncertain[top] += nodes.variance(at) - variances[at];
                recursive[top] += again;
                upwards[at] += Math.max(back[at], 0) - again;
                if (nodes.parents[at] >= 0 && top != at) {
                    upwards[nodes.parents[at]] += upwards[at];
                }
            }
        }
        for (int at = 0; at < count; at++) {
            int top = figures.recursion[at];
            if (top >= 0 && top != at && recursive[top] > 0) {
                variances[at] += uncertain[top] / recursive[top] * Math.max(upwards[at], 0);
            }
        }
        return variances;
    }
}
