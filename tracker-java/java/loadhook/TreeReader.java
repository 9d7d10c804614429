package loadhook;

/** Reads a tree as it is at one moment. Running calls count with their time so far. */
final class TreeReader {
    private static final int VALUES = 4;
    /** The maximum number of attempts to read words while the thread changes them. */
    private static final int TRIES = 100;

    final int end;
    /** Number of allocations that found no room. */
    final long lost;
    /** The nanoseconds that the ticks read from the tree stand for. */
    final long given;
    /**
     * The nanoseconds whose ticks do not count. If the ticks of most of the time do not count, this is the whole time.
     */
    final long refused;
    /** True if the tree's ticks do not count, because the ticks of most of the time were refused. All ticks are then read as 0. */
    final boolean isMostlyRefused;
    private final TimedTree tree;
    private final int[] rows;
    private final long[] times;

    // The nodes with running timed calls, and their words TIMED, ALL, NESTED and CHILD, read while those calls
    // were running.
    private int[] nodes = new int[0];
    private long[] values;
    private int count;
    /** A set of the nodes in {@link #nodes}, as bits. Several nodes may have the same bit. */
    private long taken;

    /** True if every call is timed as soon as it has ended. */
    private final boolean isExact;

    /** TIMED, ALL, NESTED and CHILD of {@link #chosen}, read at one moment. */
    private final long[] words = new long[VALUES];
    private int chosen;

    /** Makes a reader for a tree that no thread changes. */
    TreeReader(TimedTree tree) {
        this.tree = tree;
        end = tree.end;
        isExact = tree.mode == Timing.EXACT;
        lost = tree.lost;
        long given = tree.given();
        long refused = tree.refused();
        isMostlyRefused = TimedTree.isMostlyRefused(given, refused);
        this.given = isMostlyRefused ? 0 : given;
        this.refused = isMostlyRefused ? given + refused : refused;
        int[] rows = tree.rows;
        long[] times = tree.times;
        // A growing tree replaces one array after the other. Reading the volatile end makes the JVM read both
        // arrays again.
        for (int tries = 0; tries < TRIES && tree.end != 0 && (rows != tree.rows || 2 * rows.length != times.length); tries++) {
            rows = tree.rows;
            times = tree.times;
        }
        this.rows = rows;
        this.times = times;
    }

    /** Makes a reader for a path whose thread may keep running meanwhile. */
    static TreeReader of(Path path) {
        TreeReader reader = new TreeReader(path);
        if (!Budget.hasRoom(256L * path.depth)) {
            return reader;
        }
        Frames before = new Frames(path);
        if (before.told != 0) {
            reader.take(before);
            // Calls in both copies ran all the time between the two, so the values read between do not contain
            // these calls.
            int same = before.agree(new Frames(path));
            if (Clock.kind == Clock.WALL || path.isOf(Thread.currentThread())) {
                reader.addUnderWay(before, same, Clock.now());
            }
        }
        return reader;
    }

    int method(int node) {
        return rows[node + Tree.METHOD];
    }

    /** Returns whether the node belongs to an allocation site. */
    boolean isLeaf(int node) {
        return rows[node + Tree.NEXT] == Tree.LEAF;
    }

    int parent(int node) {
        return (int) (times[2 * node + Tree.LINK] >> 32);
    }

    /**
     * Returns the number of calls of a node. A grant changes two words in no reliable order, and the thread may
     * be stopped between them. If one word is newer, the call that caused the grant is not counted yet, and no
     * calls were left before it.
     */
    long calls(int node) {
        long granted = 0;
        int work = 0;
        for (int tries = 0; tries < TRIES && tree.end != 0; tries++) {
            granted = times[2 * node + Tree.GRANTED];
            if (tree.end != 0) {
                work = rows[node + Tree.WORK];
            }
            if (tree.end != 0 && times[2 * node + Tree.GRANTED] == granted) {
                break;
            }
        }
        long calls = Tree.granted(granted);
        switch ((work & Tree.GRANTS) - ((int) granted & Tree.GRANTS) & Tree.GRANTS) {
            case 0:
                return calls - (work & Tree.LEFT);
            case Tree.GRANT:
                return calls;
            default:
                return calls - 1 - (granted & Tree.LEFT);
        }
    }

    private int left(int node) {
        return rows[node + Tree.WORK] & Tree.LEFT;
    }

    /**
     * Chooses the node of {@link #now} and {@link #outermost}, and reads its times as they are at one moment. If
     * the thread books calls meanwhile, they are read again. If the thread is stopped while it books a call, that
     * call may be in some of the times only.
     */
    TreeReader choose(int node) {
        chosen = node;
        int at = find(node);
        if (at < 0) {
            read(node, words, 0);
        } else {
            System.arraycopy(values, VALUES * at, words, 0, VALUES);
        }
        return this;
    }

    /** Returns TIMED, ALL, NESTED or CHILD of the chosen node. */
    long now(int which) {
        return words[which - Tree.TIMED];
    }

    /**
     * Returns the nanoseconds of the chosen node's calls that were not inside another call of the node. Returns 0
     * for a leaf, whose ALL is bytes.
     */
    long outermost() {
        return isLeaf(chosen) ? 0 : Math.max(0, now(Tree.ALL) - now(Tree.NESTED));
    }

    /** Reads TIMED, ALL, NESTED and CHILD until two readings agree. */
    private void read(int node, long[] into, int at) {
        long[] times = this.times;
        int from = 2 * node + Tree.TIMED;
        boolean isSame = false;
        for (int tries = 0; tries < TRIES && !isSame; tries++) {
            isSame = tries != 0;
            for (int value = 1; value < VALUES; value++) {
                long word = times[from + value];
                isSame &= into[at + value] == word;
                into[at + value] = word;
            }
            into[at] = timed(node);
            // Reading the volatile end makes the JVM read the words again.
            if (tree.end == 0) {
                return;
            }
        }
    }

    /**
     * Writes the calls, TIMED, ALL, the {@link #outermost} time and CHILD of a node into a record.
     *
     * The frequent case is written out: without a compiler, calls and loops would take more time than all else in a
     * snapshot.
     */
    void write(int node, long[] into, int at) {
        long[] times = this.times;
        int from = node << 1;
        long granted = times[from];
        long all = times[from + Tree.ALL];
        long nested = times[from + Tree.NESTED];
        long child = times[from + Tree.CHILD];
        int work = rows[node + Tree.WORK];
        // Reading the volatile end makes the JVM read the words again.
        if (isExact && (taken >>> node / Tree.STRIDE & 1) == 0 && tree.end != 0 && rows[node + Tree.NEXT] != Tree.LEAF
                && node != tree.overflow && ((work ^ (int) granted) & Tree.CALL - 1) == 0 && nested <= all
                && times[from] == granted && times[from + Tree.ALL] == all && times[from + Tree.NESTED] == nested
                && times[from + Tree.CHILD] == child) {
            long calls = granted / Tree.CALL;
            into[at] = calls;
            into[at + 1] = calls - work / Tree.CALL;
            into[at + 2] = all;
            into[at + 3] = all - nested;
            into[at + 4] = child;
            return;
        }
        choose(node);
        into[at] = calls(node);
        into[at + 1] = now(Tree.TIMED);
        into[at + 2] = now(Tree.ALL);
        into[at + 3] = outermost();
        into[at + 4] = now(Tree.CHILD);
    }

    /**
     * Returns the number of a node's timed calls that have ended. A path that times every call does not count
     * timed calls: they are all its calls but those under way.
     */
    private long timed(int node) {
        if (!isExact) {
            return times[2 * node + Tree.TIMED];
        }
        return node == tree.overflow || isLeaf(node) ? 0 : Math.max(0, calls(node) - rows[node + Tree.WORK] / Tree.CALL);
    }

    /** Returns TIMED, ALL, NESTED or CHILD of a node. */
    long value(int node, int which) {
        int at = find(node);
        if (at < 0) {
            return which == Tree.TIMED ? timed(node) : times[2 * node + which];
        }
        return values[VALUES * at + which - Tree.TIMED];
    }

    /**
     * Returns one of the two words of a node's ticks: the time, or its variance. See {@link TimedTree#ticks}.
     */
    long ticks(int node, int of) {
        return isMostlyRefused ? 0 : tree.ticks(node, of);
    }

    /** Returns the variance of a node's own time by ticks, in ns², as the bits of a double. */
    long tickVarianceBits(int node) {
        long squares = ticks(node, 1);
        return squares == 0 ? 0 : Double.doubleToRawLongBits(TimedTree.TICK_SQUARE * squares);
    }

    /** Returns whether ticks were lost because there was no room. */
    boolean isTickless() {
        return tree.isTickless();
    }

    /**
     * Returns the {@link #variance} as the bits of a double. If no calls are drawn, this calls no method of the
     * JDK.
     */
    long varianceBits(int node) {
        return Tree.period((int) times[2 * node + Tree.LINK]) > 1 ? Double.doubleToRawLongBits(variance(node))
                : times[2 * node + Tree.VARIANCE];
    }

    /** Returns the variance of ALL, including the part for the incomplete block. */
    double variance(int node) {
        double variance = Double.longBitsToDouble(times[2 * node + Tree.VARIANCE]);
        int block = (int) times[2 * node + Tree.LINK];
        int period = Tree.period(block);
        if (period > 1) {
            // The drawn call lies LEFT calls ahead. After it, {@code rest + 1} calls remain until the end of the
            // block. So either some calls of this block are already counted, or some calls of the previous block,
            // which is about as long, are not.
            long seen = period - 1 - Tree.rest(block) - left(node);
            if (seen < 0) {
                seen += period;
            }
            if (seen > 0) {
                double mean = times[2 * node + Tree.RECENT];
                variance += (double) seen * (period - seen) * mean * mean;
            }
        }
        return variance;
    }

    private int find(int node) {
        for (int at = count - 1; at >= 0; at--) {
            if (nodes[at] == node) {
                return at;
            }
        }
        return -1;
    }

    private void take(Frames frames) {
        nodes = new int[2 * frames.told];
        values = new long[VALUES * nodes.length];
        for (int frame = 0; frame < frames.depth; frame++) {
            if (frames.tells(frame)) {
                take(frames.nodes[frame]);
                take(frames.callers[frame]);
            }
        }
    }

    private void take(int node) {
        if (node < end && find(node) < 0) {
            read(node, values, VALUES * count);
            nodes[count++] = node;
            taken |= 1L << node / Tree.STRIDE;
        }
    }

    private void addUnderWay(Frames frames, int depth, long now) {
        for (int frame = 0; frame < depth; frame++) {
            long weight = frames.weights[frame];
            int began = frames.began[frame];
            int node = find(frames.nodes[frame]);
            if (node >= 0 && frames.nodes[frame] != tree.overflow) {
                long nanos = Math.max(0, now - frames.starts[frame]);
                long estimate = weight * Timing.sample(nanos, weight, began);
                estimate += weight == 1 ? 0 : Ticker.beyond(began, now);
                add(node, Tree.TIMED, weight == 0 ? 0 : 1);
                add(node, Tree.ALL, estimate);
                if (!isOutermost(frames, frame)) {
                    add(node, Tree.NESTED, estimate);
                }
                add(find(frames.callers[frame]), Tree.CHILD, estimate);
            }
        }
    }

    private static boolean isOutermost(Frames frames, int frame) {
        int above = frame - 1;
        while (above >= 0 && frames.nodes[above] != frames.nodes[frame]) {
            above--;
        }
        return above < 0;
    }

    private void add(int at, int which, long value) {
        if (at >= 0) {
            values[VALUES * at + which - Tree.TIMED] += value;
        }
    }
}
