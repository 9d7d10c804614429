package loadhook;

/**
 * A calling-context tree that folds recursion: a call of a method that is already among its callers leads to the
 * node of that caller.
 *
 * A node is the offset of its row in {@code rows}; twice that is its offset in {@code times}. A row
 * contains only the words that every call needs, because trees of real programs are larger than a
 * processor's caches. Arrays for all nodes avoid the write barriers of references. Only the owner's
 * thread writes; other threads may read.
 *
 * A StackOverflowError can occur only at a call of a method. So code that changes more than one
 * word makes all its calls first, and then writes without further calls.
 */
class Tree {
    static final int STRIDE = 4;

    // The next four documented constants are the words of a row.
    /** The method's id. */
    static final int METHOD = 0;
    /** The child called last. Many calls repeat the previous one. */
    static final int LAST = 1;
    /**
     * The sibling that was called after this node the last time, because code repeats itself; 0 if no sibling
     * was.
     */
    static final int NEXT = 2;
    /**
     * The number of running calls, in units of {@link #CALL}; two bits of the number of grants; in the lowest
     * byte, the number of calls that are left of the last grant. Until the next grant, a call changes only this
     * word.
     */
    static final int WORK = 3;
    static final int LEFT = 0xFF;
    static final int GRANT = LEFT + 1;
    static final int GRANTS = 3 * GRANT;
    static final int CALL = 4 * GRANT;

    /**
     * The first of the eight words of a node's times: the number of calls granted, in units of {@link #CALL}. The
     * lower bits are a copy of the lower bits of WORK right after the grant. The two differ if a reader got one
     * word from before a grant and the other from after it, see {@link TreeReader#calls}.
     */
    static final int GRANTED = 0;
    /** The number of timed calls. On a path that times every call this is not kept, see {@link TreeReader#timed}. */
    static final int TIMED = 1;
    /** Weighted sum of the nanoseconds of all calls. */
    static final int ALL = 2;
    /** The weighted sum of the nanoseconds of calls inside another call of the node. */
    static final int NESTED = 3;
    /** The weighted sum of the nanoseconds of the calls made from this node. */
    static final int CHILD = 4;
    /** The variance of ALL, as the bits of a double. */
    static final int VARIANCE = 5;
    /** A moving mean of the durations in nanoseconds. */
    static final int RECENT = 6;
    /**
     * Upper half: the caller's node. Lower half: the block of the next timed call. A block is a length and, in
     * the lowest byte, the number of calls after the timed one.
     */
    static final int LINK = 7;

    static final int ROOT = 0;

    /** The method of the node for calls that found no room. Ids are not negative. */
    static final int OVERFLOW = -1;
    static final int NO_METHOD = -2;

    /** Value of NEXT in the row of an allocation site, see {@link AllocatingTree}. */
    static final int LEAF = -1;

    /**
     * The length of the rows up to which searching all of them is as fast as a hash table. The search needs no
     * memory.
     */
    private static final int SMALL = 8 * STRIDE;

    /**
     * Element {@code id & INNER.length - 1} is true if a node of a method with an id that leads to this element has
     * callees, in any tree. Only such methods can be above a node. An element never becomes false again, so threads
     * need not agree on it.
     */
    private static final boolean[] INNER = new boolean[1 << 15];

    /** The maximum number of edges that a tree remembers as leading to the overflow. */
    private static final int REMEMBERED = 4096;

    int[] rows;
    long[] times;
    /** The overflow node; 0 until there is one. */
    int overflow;
    /** Number of allocations that found no room for a leaf. */
    long lost;
    int mode;

    /**
     * The offset after the last node. Volatile, so that a thread that reads this field also sees the rows before that
     * offset.
     */
    volatile int end = STRIDE;

    /** Edges to children, and remembered edges to nodes higher up; null in a small tree. */
    private Edges edges;

    /**
     * Remembered edges to the overflow. A call along an edge that is not remembered searches the nodes up to the
     * root.
     */
    private long[] full;

    Tree(int mode, int nodes) {
        this.mode = mode;
        rows = new int[nodes * STRIDE];
        times = new long[nodes * STRIDE * 2];
        rows[METHOD] = NO_METHOD;
    }

    final int parent(int node) {
        return (int) (times[2 * node + LINK] >> 32);
    }

    /** Returns the node for a call of a method from a node: a child, a node higher up, or the overflow. */
    final int callee(int from, int method) {
        int node = known(from, method);
        if (node == 0) {
            node = unknown(from, method);
        }
        foresee(from, node);
        return node;
    }

    /** Notes that the callee is expected next time, if it is a child of its caller. */
    private void foresee(int from, int node) {
        if (parent(node) == from && node != overflow) {
            int[] rows = this.rows;
            int last = rows[from + LAST];
            if (last != ROOT) {
                rows[last + NEXT] = node;
            }
            rows[from + LAST] = node;
        }
    }

    /**
     * Finds or makes a child, without a search of the nodes higher up. Serves sums of trees, in which recursion
     * is already folded.
     */
    final int child(int from, int method) {
        int node = known(from, method);
        return node != 0 ? node : made(from, method);
    }

    /** Finds or makes the leaf of an allocation site below a node; returns the root if there is no room for it. */
    final int leaf(int from, int site) {
        int leaf = known(from, site);
        return leaf != 0 || isFull(from, site) ? leaf : make(from, site, true);
    }

    /** Returns the node to which a known edge leads, or 0. */
    final int known(int from, int method) {
        Edges edges = this.edges;
        if (edges != null) {
            return edges.node(Edges.key(from, method));
        }
        int[] rows = this.rows;
        int end = this.end;
        for (int node = STRIDE; node < end; node += STRIDE) {
            if (rows[node + METHOD] == method && parent(node) == from) {
                return node;
            }
        }
        return 0;
    }

    /** Returns the node for a call along an unknown edge: a node higher up, a new child, or the overflow. */
    final int unknown(int from, int method) {
        if (isFull(from, method)) {
            return overflow();
        }
        int[] rows = this.rows;
        long[] times = this.times;
        if (INNER[method & INNER.length - 1]) {
            // The loop reads the parent directly: without a compiler, calls of
            // parent() would be most of the work of a new node.
            for (int above = from; above != ROOT; above = (int) (times[(above << 1) + LINK] >> 32)) {
                if (rows[above + METHOD] == method) {
                    remember(from, method, above);
                    return above;
                }
            }
        } else if (rows[from + METHOD] == method) {
            remember(from, method, from);
            return from;
        }
        return made(from, method);
    }

    private void remember(int from, int method, int node) {
        // If there is no room to remember the edge, the next such call searches the nodes higher up again.
        Edges edges = this.edges;
        if (edges != null && edges.room()) {
            long[] table = edges.table;
            long key = Edges.key(from, method);
            int at = Edges.find(table, key);
            // No method may be called below: a StackOverflowError would leave the update half done.
            table[at] = key;
            table[at + 1] = node;
            edges.count++;
        }
    }

    private int made(int from, int method) {
        int node = make(from, method, false);
        return node != ROOT ? node : overflow();
    }

    /** Makes a node, or a leaf if {@code leaf}. Returns the root if there is no room. */
    private int make(int from, int method, boolean leaf) {
        if (overflow != 0 && from == overflow || !roomForNode() || !roomForEdge()) {
            // There may be room after a garbage collection, so the edge is not remembered as one to the overflow.
            return ROOT;
        }
        if (!takesNode()) {
            rememberFull(from, method);
            return ROOT;
        }
        int node = end;
        Edges edges = this.edges;
        long[] table = edges == null ? null : edges.table;
        long key = Edges.key(from, method);
        int at = table == null ? 0 : Edges.find(table, key);
        if (!leaf) {
            INNER[rows[from + METHOD] & INNER.length - 1] = true;
        }
        write(node, from, method, mode, leaf);
        // No method may be called below: an edge must never lead to a node that does not exist.
        if (table != null) {
            table[at] = key;
            table[at + 1] = node;
            edges.count++;
        }
        return node;
    }

    /**
     * Returns the node of calls that found no room. A row is always reserved for it, and it does not count
     * against the limit.
     */
    final int overflow() {
        if (overflow == 0) {
            int node = end;
            write(node, ROOT, OVERFLOW, Timing.COUNT, false);
            overflow = node;
        }
        return overflow;
    }

    /** Takes one node from the limit; returns false if none is left. */
    boolean takesNode() {
        return Budget.takeNode();
    }

    private boolean isFull(int from, int method) {
        long[] full = this.full;
        return full != null && full[Edges.hash(Edges.key(from, method)) & full.length - 1] == Edges.key(from, method);
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
        full[Edges.hash(Edges.key(from, method)) & full.length - 1] = Edges.key(from, method);
    }

    private void write(int node, int from, int method, int mode, boolean leaf) {
        int[] rows = this.rows;
        rows[node + METHOD] = method;
        if (leaf) {
            rows[node + LAST] = from;
            rows[node + NEXT] = LEAF;
        }
        times[2 * node + LINK] = (long) from << 32 | block(1, 0);
        if (leaf || mode == Timing.COUNT) {
            rows[node + WORK] = LEFT;
            times[2 * node + GRANTED] = (long) LEFT * CALL + LEFT;
        }
        end = node + STRIDE;
    }

    // The methods below make room before anything is written.

    /** Returns whether the heap has room for an array of this many bytes. */
    boolean hasRoom(long bytes) {
        return Budget.hasRoom(bytes);
    }

    /** Called when an array was replaced by a longer one. A subclass can override this method. */
    void grown() {
    }

    private boolean roomForNode() {
        return end + 2 * STRIDE <= rows.length || grow();
    }

    private boolean grow() {
        int length = rows.length;
        if (length > Integer.MAX_VALUE / 4 || !hasRoom(40L * length)) {
            return false;
        }
        try {
            int[] longerRows = Arrays.longer(rows);
            long[] longerTimes = Arrays.longer(times);
            rows = longerRows;
            times = longerTimes;
            grown();
            return true;
        } catch (OutOfMemoryError error) {
            return false;
        }
    }

    private boolean roomForEdge() {
        if (edges != null) {
            return edges.room();
        }
        if (end >= SMALL) {
            edges = edgesToChildren();
            return edges != null;
        }
        return true;
    }

    private Edges edgesToChildren() {
        Edges made = Edges.make(4 * SMALL / STRIDE);
        for (int node = STRIDE; made != null && node < end; node += STRIDE) {
            if (node != overflow) {
                made.put(Edges.key(parent(node), rows[node + METHOD]), node);
            }
        }
        return made;
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

    /**
     * Counts a call of a node whose last grant is used up, and grants {@code
     * left} further calls. This method calls no other.
     */
    final void grant(int node, int left) {
        int work = rows[node + WORK];
        int low = work + GRANT & GRANTS | left;
        long granted = times[2 * node + GRANTED] & -CALL;
        times[2 * node + GRANTED] = granted + (long) (left + 1) * CALL + low;
        rows[node + WORK] = (work & -CALL) + CALL | low;
    }

    static long granted(long word) {
        return word / CALL;
    }

    // The methods below serve sums of trees.

    final long calls(int node) {
        return granted(times[2 * node + GRANTED]) - (rows[node + WORK] & LEFT);
    }

    /** Returns whether the tree has neither nodes nor lost allocations. */
    final boolean isEmpty() {
        return end == STRIDE && lost == 0;
    }

    /** Returns the number of nodes that the tree has taken from the limit. */
    final int taken() {
        return end / STRIDE - 1 - (overflow == 0 ? 0 : 1);
    }

    /**
     * Takes over the nodes of another tree, which must not be used afterwards. This tree must not
     * have nodes yet.
     */
    final void adopt(Tree other) {
        rows = other.rows;
        times = other.times;
        edges = other.edges;
        overflow = other.overflow;
        lost += other.lost;
        end = other.end;
        other.lost = 0;
        other.end = STRIDE;
    }

    /** Forgets all nodes, so that another thread can use the tree. The nodes are not given back to the limit. */
    void clear() {
        Arrays.clear(rows, end);
        Arrays.clear(times, 2 * end);
        rows[METHOD] = NO_METHOD;
        edges = null;
        full = null;
        overflow = 0;
        lost = 0;
        end = STRIDE;
    }

    long bytes() {
        Edges edges = this.edges;
        return 160 + 4L * rows.length + 8L * times.length + (edges == null ? 0 : edges.bytes())
                + (full == null ? 0 : 8L * REMEMBERED);
    }
}
