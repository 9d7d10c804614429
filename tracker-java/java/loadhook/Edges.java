package loadhook;

/**
 * Maps a caller's node and a method to the node of the call. The map is a hash table with open addressing. The
 * two words of an edge are side by side.
 */
final class Edges {
    /** Two words for each place: the key and the node of an edge. The node is 0 if the place is free. */
    long[] table;
    int count;

    private Edges(int places) {
        table = new long[2 * places];
    }

    /** Makes a table of this many places, which is a power of two. Returns null if the heap has no room for it. */
    static Edges make(int places) {
        if (!Budget.hasRoom(16L * places)) {
            return null;
        }
        try {
            return new Edges(places);
        } catch (OutOfMemoryError error) {
            return null;
        }
    }

    static long key(int from, int method) {
        return (long) from << 32 | method;
    }

    /** Returns the node to which an edge leads, or 0 if the edge is unknown. */
    int node(long key) {
        long[] table = this.table;
        return (int) table[find(table, key) + 1];
    }

    /** Returns the index of the key in the table, or of the free place for the key. */
    static int find(long[] table, long key) {
        int mask = table.length - 1;
        int at = hash(key) << 1 & mask;
        while (table[at] != key && table[at + 1] != 0) {
            at = at + 2 & mask;
        }
        return at;
    }

    static int hash(long key) {
        return (int) ((key ^ key >>> 29) * 0x9E3779B97F4A7C15L >>> 32);
    }

    /** Makes room for one more edge; returns false if the heap has none. */
    boolean room() {
        return 3 * count < table.length || grow();
    }

    private boolean grow() {
        int length = table.length;
        if (length > Integer.MAX_VALUE / 4 || !Budget.hasRoom(16L * length)) {
            return false;
        }
        try {
            long[] longer = new long[2 * length];
            for (int at = 0; at < length; at += 2) {
                if (table[at + 1] != 0) {
                    int to = find(longer, table[at]);
                    longer[to] = table[at];
                    longer[to + 1] = table[at + 1];
                }
            }
            table = longer;
            return true;
        } catch (OutOfMemoryError error) {
            return false;
        }
    }

    /** Adds an edge to a table that no other thread can read yet. */
    void put(long key, int node) {
        int at = find(table, key);
        table[at] = key;
        table[at + 1] = node;
        count++;
    }

    long bytes() {
        return 32 + 8L * table.length;
    }
}
