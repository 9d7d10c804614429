package loadhook;

/**
 * A tree that counts allocations: of each site a leaf below the node that it was met in.
 *
 * In a leaf's row LAST is the node above, NEXT is {@link #LEAF}, and no call is ever under way. ALL of its times are the
 * bytes of arrays; those of objects follow from their number. What calls foresee is in the rows of callers and their
 * callees, of which leaves are none.
 */
class AllocatingTree extends TimedTree {
    /** As many as take a quarter of a processor's nearest cache. */
    private static final int MOST_PLACES = 2048;
    /** Searches of leaves before room is asked for again. */
    private static final int PATIENCE = 1 << 10;
    /** Never written. */
    private static final int[] NOWHERE = new int[1];

    /** Where the leaves were that were met last, by site and node above; else the root, whose row is no site's. */
    private int[] places = NOWHERE;
    /** How often that did not have the leaf, since it was made. */
    private int misses;

    // Of the array of several dimensions that is being counted: how many arrays its last dimension has, and how long.
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
                // No call from here on.
                rows[leaf + WORK] = work - 1;
                times[2 * leaf + ALL] += bytes;
                return;
            }
        }
        allocSlowly(from, site, bytes);
    }

    /** Where the leaf is not at its place, or none are left of its last grant. */
    private void allocSlowly(int from, int site, long bytes) {
        int leaf = place(from, site);
        if (leaf == ROOT) {
            lost++;
            return;
        }
        if ((rows[leaf + WORK] & LEFT) == 0) {
            grant(leaf, LEFT);
            // No call from here on. As for a call that has ended already.
            rows[leaf + WORK] &= CALL - 1;
        } else {
            rows[leaf + WORK]--;
        }
        times[2 * leaf + ALL] += bytes;
    }

    /** One dimension, from the outermost on, of an array that has several. */
    final void allocDimension(int from, int length, int dimension, int siteAndKind) {
        int leaf = place(from, siteAndKind >>> ArraySizes.KIND_BITS);
        long arrays = 1;
        long bytes = 0;
        if (dimension != 0) {
            // The dimension before was not the last one, as it was taken for: its arrays hold references.
            long each = ArraySizes.of(ArraySizes.REFERENCES, this.length) - ArraySizes.of(siteAndKind, this.length);
            bytes = this.arrays * each;
            arrays = this.arrays * this.length;
        }
        bytes += arrays * ArraySizes.of(siteAndKind, length);
        // No call from here on.
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

    /** The leaf, which has its place then; or the root if there is no room for it. */
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

    /** A shortcut: without it leaves are searched. */
    private void widen(int length) {
        // Where there is no room it is asked for seldom.
        misses = -PATIENCE;
        if (!hasRoom(4L * length)) {
            return;
        }
        try {
            places = new int[length];
            misses = 0;
            grown();
        } catch (OutOfMemoryError error) {
            // As it was.
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
