package loadhook;

/**
 * A calling-context tree that folds recursion: a method that is already on the way up to the root goes back to its node.
 *
 * A node is the offset of its row, which is the same in {@code rows} and {@code times}; two arrays for all nodes keep a
 * node's hot words in one cache line and cost no write barriers. Only the owner's thread writes; others may read.
 *
 * A StackOverflowError strikes where a method is called and nowhere else. So whatever changes more than one word does all
 * its calls first and then writes without any.
 */
class Tree {
    static final int STRIDE = 8;

    // Of a row: the method and the caller's node,
    static final int METHOD = 0;
    static final int PARENT = 1;
    // the last callee, since most calls repeat the one before,
    static final int LAST_METHOD = 2;
    static final int LAST_CHILD = 3;
    // calls until the next timed one, calls under way,
    static final int LEFT = 4;
    static final int ACTIVE = 5;
    // the block that the next timed call belongs to: its length, and in the lowest byte what remains of it behind that call,
    static final int BLOCK = 6;
    // the node that its caller called next the last time.
    static final int NEXT = 7;

    // Of the times: calls plus LEFT, so that a call counts down one word and no other,
    static final int GRANTED = 0;
    // how many were timed, and the weighted sums of their nanoseconds: of all, of those not inside another call of the
    // node, and of the calls made from this node,
    static final int TIMED = 1;
    static final int ALL = 2;
    static final int OUTERMOST = 3;
    static final int CHILD = 4;
    // the variance of ALL (the bits of a double) and a moving mean.
    static final int VARIANCE = 5;
    static final int RECENT = 6;

    static final int ROOT = 0;

    /** The method of the node for calls that found no room. Ids are not negative. */
    static final int OVERFLOW = -1;
    static final int NO_METHOD = -2;

    /** Up to so many nodes a search through the rows is as fast as a hash table, and takes no memory. */
    private static final int SMALL = 8 * STRIDE;

    /** So many edges to the overflow are remembered at most. */
    private static final int REMEMBERED = 4096;

    int[] rows;
    long[] times;
    /** The node of the overflow, 0 until there is one. */
    int overflow;
    int mode;

    /** Behind the last node. Volatile: who reads it sees the rows before it. */
    volatile int end = STRIDE;

    /** Edges to children and, remembered, back to nodes higher up: caller's node and method; the node. */
    private long[] edgeKeys;
    private int[] edgeNodes;
    private int edges;

    /** Edges that lead to the overflow, as far as they are remembered: without it each such call walks up to the root. */
    private long[] full;

    Tree(int mode, int nodes) {
        this.mode = mode;
        rows = new int[nodes * STRIDE];
        times = new long[nodes * STRIDE];
        rows[METHOD] = NO_METHOD;
        rows[LAST_METHOD] = NO_METHOD;
    }

    /** The node for a call of a method from a node: a child, a node higher up, or the overflow. */
    final int callee(int from, int method) {
        int node = known(from, method);
        if (node == 0) {
            node = isFull(from, method) ? overflow : missing(from, method);
        }
        if (node != overflow) {
            int[] rows = this.rows;
            rows[rows[from + LAST_CHILD] + NEXT] = node;
            rows[from + LAST_METHOD] = method;
            rows[from + LAST_CHILD] = node;
        }
        return node;
    }

    /** The child, made if there is none; for a tree that is the sum of others, where nothing recurs. */
    final int child(int from, int method) {
        int node = known(from, method);
        return node != 0 ? node : make(from, method);
    }

    /** Where an edge leads that was met before, else 0. */
    private int known(int from, int method) {
        int[] nodes = edgeNodes;
        if (nodes == null) {
            int[] rows = this.rows;
            int end = this.end;
            for (int node = STRIDE; node < end; node += STRIDE) {
                if (rows[node + METHOD] == method && rows[node + PARENT] == from) {
                    return node;
                }
            }
            return 0;
        }
        long[] keys = edgeKeys;
        long key = key(from, method);
        int mask = nodes.length - 1;
        for (int at = hash(key) & mask;; at = at + 1 & mask) {
            int node = nodes[at];
            if (node == 0 || keys[at] == key) {
                return node;
            }
        }
    }

    private int missing(int from, int method) {
        int[] rows = this.rows;
        for (int above = from; above != ROOT; above = rows[above + PARENT]) {
            if (rows[above + METHOD] == method) {
                remember(from, method, above);
                return above;
            }
        }
        return make(from, method);
    }

    private void remember(int from, int method, int node) {
        // A shortcut: without it the way up is walked again.
        if (edgeNodes != null && roomForEdge()) {
            int at = freeEdge(from, method);
            edgeKeys[at] = key(from, method);
            edgeNodes[at] = node;
            edges++;
        }
    }

    private int make(int from, int method) {
        if (overflow != 0 && from == overflow) {
            return overflow;
        }
        if (!roomForNode() || !roomForEdge()) {
            // There may be room after a collection.
            return overflow();
        }
        if (!takesNode()) {
            int node = overflow();
            rememberFull(from, method);
            return node;
        }
        int at = edgeNodes == null ? -1 : freeEdge(from, method);
        long key = key(from, method);
        int node = end;
        write(node, from, method, mode);
        // No call from here on: an edge leads to a node that is there.
        if (at >= 0) {
            edgeKeys[at] = key;
            edgeNodes[at] = node;
            edges++;
        }
        return node;
    }

    /** The node of calls that found no room. Its row is always kept free, and it is in no limit. */
    final int overflow() {
        if (overflow == 0) {
            int node = end;
            write(node, ROOT, OVERFLOW, Timing.COUNT);
            overflow = node;
        }
        return overflow;
    }

    /** Whether the limit allows one more. */
    boolean takesNode() {
        return Budget.takeNode();
    }

    private boolean isFull(int from, int method) {
        long[] full = this.full;
        return full != null && full[hash(key(from, method)) & full.length - 1] == key(from, method);
    }

    private void rememberFull(int from, int method) {
        if (full == null) {
            if (!Budget.hasRoom(8 * REMEMBERED)) {
                return;
            }
            try {
                full = new long[REMEMBERED];
            } catch (OutOfMemoryError error) {
                return;
            }
        }
        full[hash(key(from, method)) & full.length - 1] = key(from, method);
    }

    private void write(int node, int from, int method, int mode) {
        int[] rows = this.rows;
        rows[node + METHOD] = method;
        rows[node + PARENT] = from;
        rows[node + LAST_METHOD] = NO_METHOD;
        rows[node + BLOCK] = block(1, 0);
        if (mode == Timing.COUNT) {
            rows[node + LEFT] = Integer.MAX_VALUE;
            times[node + GRANTED] = Integer.MAX_VALUE;
        }
        end = node + STRIDE;
    }

    // Room, made before anything is written.

    private boolean roomForNode() {
        return end + 2 * STRIDE <= rows.length || grow();
    }

    private boolean grow() {
        int length = rows.length;
        if (length > Integer.MAX_VALUE / 2 || !Budget.hasRoom(24L * length)) {
            return false;
        }
        try {
            int[] longerRows = Arrays.longer(rows);
            long[] longerTimes = Arrays.longer(times);
            rows = longerRows;
            times = longerTimes;
            return true;
        } catch (OutOfMemoryError error) {
            return false;
        }
    }

    private boolean roomForEdge() {
        if (edgeNodes == null) {
            return end < SMALL || rehash(4 * SMALL / STRIDE);
        }
        return 2 * edges < edgeNodes.length || rehash(2 * edgeNodes.length);
    }

    private boolean rehash(int size) {
        if (size < 0 || !Budget.hasRoom(12L * size)) {
            return false;
        }
        try {
            long[] keys = new long[size];
            int[] nodes = new int[size];
            int count = edgeNodes == null ? plant(keys, nodes) : replant(keys, nodes);
            edgeKeys = keys;
            edgeNodes = nodes;
            edges = count;
            return true;
        } catch (OutOfMemoryError error) {
            return false;
        }
    }

    /** Puts the children of all nodes into a table. */
    private int plant(long[] keys, int[] nodes) {
        int count = 0;
        for (int node = STRIDE; node < end; node += STRIDE) {
            if (node != overflow) {
                put(keys, nodes, key(rows[node + PARENT], rows[node + METHOD]), node);
                count++;
            }
        }
        return count;
    }

    private int replant(long[] keys, int[] nodes) {
        for (int at = 0; at < edgeNodes.length; at++) {
            if (edgeNodes[at] != 0) {
                put(keys, nodes, edgeKeys[at], edgeNodes[at]);
            }
        }
        return edges;
    }

    private static void put(long[] keys, int[] nodes, long key, int node) {
        int at = free(nodes, key);
        keys[at] = key;
        nodes[at] = node;
    }

    private int freeEdge(int from, int method) {
        return free(edgeNodes, key(from, method));
    }

    private static int free(int[] nodes, long key) {
        int mask = nodes.length - 1;
        int at = hash(key) & mask;
        while (nodes[at] != 0) {
            at = at + 1 & mask;
        }
        return at;
    }

    private static long key(int from, int method) {
        return (long) from << 32 | method;
    }

    private static int hash(long key) {
        return (int) ((key ^ key >>> 29) * 0x9E3779B97F4A7C15L >>> 32);
    }

    static int block(int period, int rest) {
        return period << 8 | rest;
    }

    static int period(int block) {
        return block >> 8;
    }

    static int rest(int block) {
        return block & 0xFF;
    }

    // Sums.

    final long calls(int node) {
        return times[node + GRANTED] - rows[node + LEFT];
    }

    /** Adds what another tree holds, as read; {@code map} has room for its nodes, or is null: all becomes overflow. */
    final void add(Reading source, int[] map) {
        if (map != null) {
            map[ROOT] = ROOT;
        }
        for (int node = STRIDE; node < source.end; node += STRIDE) {
            int to;
            if (map == null || source.method(node) == OVERFLOW) {
                to = overflow();
            } else {
                to = child(map[source.parent(node) / STRIDE], source.method(node));
            }
            if (map != null) {
                map[node / STRIDE] = to;
            }
            long[] times = this.times;
            times[to + GRANTED] += source.calls(node);
            times[to + TIMED] += source.value(node, TIMED);
            times[to + ALL] += source.value(node, ALL);
            times[to + OUTERMOST] += source.value(node, OUTERMOST);
            times[to + CHILD] += source.value(node, CHILD);
            double variance = Double.longBitsToDouble(times[to + VARIANCE]) + source.variance(node);
            times[to + VARIANCE] = Double.doubleToRawLongBits(variance);
        }
    }

    /** How many nodes of the limit it has. */
    final int taken() {
        return end / STRIDE - 1 - (overflow == 0 ? 0 : 1);
    }

    /** Takes over all that another tree holds, which is not used any more; this one holds nothing yet. */
    final void adopt(Tree other) {
        rows = other.rows;
        times = other.times;
        edgeKeys = other.edgeKeys;
        edgeNodes = other.edgeNodes;
        edges = other.edges;
        overflow = other.overflow;
        end = other.end;
    }

    /** Forgets all nodes, for another thread to begin anew. */
    void clear() {
        Budget.giveBack(taken());
        Arrays.clear(rows, end);
        Arrays.clear(times, end);
        rows[METHOD] = NO_METHOD;
        rows[LAST_METHOD] = NO_METHOD;
        edgeKeys = null;
        edgeNodes = null;
        edges = 0;
        full = null;
        overflow = 0;
        end = STRIDE;
    }

    long bytes() {
        long[] keys = edgeKeys;
        return 160 + 4L * rows.length + 8L * times.length + (keys == null ? 0 : 12L * keys.length)
                + (full == null ? 0 : 8L * REMEMBERED);
    }
}
