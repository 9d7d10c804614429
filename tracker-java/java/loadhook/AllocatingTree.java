package loadhook;

/**
 * A tree that also counts allocations. Below each node that allocated, each of
 * its allocation sites has a leaf.
 *
 * A leaf's row has the same words as a node's row, but some have other meanings: LAST is the node above, NEXT is
 * {@link #LEAF}, and WORK never contains a running call. In a leaf's times, ALL is the number of bytes if the
 * site allocates arrays. For objects the bytes follow from their number. The words LAST and NEXT of other nodes
 * never lead to a leaf.
 */
class AllocatingTree extends TimedTree {
    /**
     * The maximum length of {@link #places}. An array of that length takes a quarter of a processor's first-level
     * cache.
     */
    private static final int MOST_PLACES = 2048;
    /**
     * The number of leaves that are searched for after a failed attempt to lengthen {@link #places}, before the
     * next attempt.
     */
    private static final int PATIENCE = 1 << 10;
    /** The initial {@link #places}, which is never written to. */
    private static final int[] NOWHERE = new int[1];

    /**
     * The leaves used last. The index of a leaf is a hash of its site and the node above it. An empty element
     * holds the root, whose row never matches a site.
     */
    private int[] places = NOWHERE;
    /**
     * Number of leaves that were not found in {@link #places} since that array was made; negative after an
     * attempt to lengthen it, which delays the next attempt.
     */
    private int misses;

    // For {@link #allocDimension}: the number of arrays in the dimension counted last, and the length of each of
    // these arrays.
    private long arrays;
    private int length;

    AllocatingTree(int mode, int nodes, long seed) {
        super(mode, nodes, seed);
    }

    final void alloc(int from, int site) {
        int[] places = this.places;
        int[] rows = this.rows;
        int leaf = places[at(from, site) & places.length - 1];
        if (rows[leaf + METHOD] == site && rows[leaf + LAST] == from) {
            int work = rows[leaf + WORK];
            if ((work & LEFT) != 0) {
                rows[leaf + WORK] = work - 1;
                return;
            }
        }
        allocSlowly(from, site, 0);
    }

    final void allocArray(int from, int length, int siteAndKind) {
        int[] places = this.places;
        int[] rows = this.rows;
        int site = siteAndKind >>> ArraySizes.KIND_BITS;
        long bytes = ArraySizes.of(siteAndKind, length);
        int leaf = places[at(from, site) & places.length - 1];
        if (rows[leaf + METHOD] == site && rows[leaf + LAST] == from) {
            int work = rows[leaf + WORK];
            if ((work & LEFT) != 0) {
                // No method may be called below: a StackOverflowError would leave the update half done.
                rows[leaf + WORK] = work - 1;
                times[2 * leaf + ALL] += bytes;
                return;
            }
        }
        allocSlowly(from, site, bytes);
    }

    /** Counts an allocation whose leaf is not in {@link #places}, or has used up its last grant of calls. */
    private void allocSlowly(int from, int site, long bytes) {
        int leaf = place(from, site);
        if (leaf == ROOT) {
            lost++;
            return;
        }
        if ((rows[leaf + WORK] & LEFT) == 0) {
            grant(leaf, LEFT);
            // No method may be called below: a StackOverflowError would leave the update half done. The leaf counts
            // like a call that has already ended.
            rows[leaf + WORK] &= CALL - 1;
        } else {
            rows[leaf + WORK]--;
        }
        times[2 * leaf + ALL] += bytes;
    }

    /**
     * Counts the arrays of one dimension of a multidimensional array. The dimensions come one after the other,
     * the outermost first.
     */
    final void allocDimension(int from, int length, int dimension, int siteAndKind) {
        int leaf = place(from, siteAndKind >>> ArraySizes.KIND_BITS);
        long arrays = 1;
        long bytes = 0;
        if (dimension != 0) {
            // The previous dimension was counted as if its arrays held elements. They hold references, so their bytes
            // are corrected.
            long each = ArraySizes.of(ArraySizes.REFERENCES, this.length) - ArraySizes.of(siteAndKind, this.length);
            bytes = this.arrays * each;
            arrays = this.arrays * this.length;
        }
        bytes += arrays * ArraySizes.of(siteAndKind, length);
        // No method may be called below: a StackOverflowError would leave the update half done.
        this.arrays = arrays;
        this.length = length;
        if (leaf == ROOT) {
            lost += arrays;
        } else {
            times[2 * leaf + GRANTED] += arrays * CALL;
            times[2 * leaf + ALL] += bytes;
        }
    }

    private static int at(int from, int site) {
        return site ^ from;
    }

    /** Finds or makes a leaf and notes it in {@link #places}. Returns the root if there is no room for the leaf. */
    private int place(int from, int site) {
        int leaf = leaf(from, site);
        int[] places = this.places;
        int at = at(from, site);
        if (leaf == ROOT || places[at & places.length - 1] == leaf) {
            return leaf;
        }
        if (++misses > places.length && places.length < MOST_PLACES) {
            widen(places == NOWHERE ? 8 : 4 * places.length);
            places = this.places;
        }
        if (places != NOWHERE) {
            places[at & places.length - 1] = leaf;
        }
        return leaf;
    }

    /** Makes {@link #places} longer. A leaf that is not in it is found by a search of the tree. */
    private void widen(int length) {
        // Delays the next attempt, in case the present one finds no room.
        misses = -PATIENCE;
        if (!hasRoom(4L * length)) {
            return;
        }
        try {
            places = new int[length];
            misses = 0;
            grown();
        } catch (OutOfMemoryError error) {
            // There was no memory, so the array stays as it was.
        }
    }

    @Override
    void clear() {
        super.clear();
        arrays = 0;
        length = 0;
        places = NOWHERE;
        misses = 0;
    }

    @Override
    long bytes() {
        return super.bytes() + 4L * places.length;
    }
}
