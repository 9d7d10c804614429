package loadhook;

/**
 * Timed calls by method and duration: those of one platform thread, or a sum over threads.
 *
 * All counts are in one array. A method has a row. The row refers to a page for each group of {@link Buckets}
 * that has calls, so that a method takes some 400 bytes instead of the 3 KB of all buckets. Rows and pages are
 * made when a call needs them. Nothing moves inside the array, and a row is complete before anything refers to
 * it, so other threads may read while the owner counts. Virtual threads count in the object of their carrier, see
 * {@link Counters}.
 */
final class Latencies {
    /**
     * True if calls are also counted by their durations. The probes of {@link Exact} and {@link Interpreted} do
     * not count them, so those probes are not used then.
     */
    static boolean areCounted;

    /** The number of low bits that hold the bucket in a word of a record; the number of calls is above them. */
    private static final int BUCKET_BITS = 10;
    /** The largest number of words of a record. */
    static final int RECORD_WORDS = 3 + Buckets.COUNT;

    // The words of a row: the pages of all groups (0 for a group without calls), then the words below.
    private static final int METHOD = Buckets.GROUPS;
    /** The row that was made before this one; 0 if there is none. */
    private static final int BEFORE = Buckets.GROUPS + 1;
    private static final int ROW = Buckets.GROUPS + 2;

    private static final int[] NOTHING = new int[1];

    /** Rows and pages. The first word is not used, because 0 stands for no row and no page. */
    int[] words = NOTHING;

    /** A hash table that leads from methods to rows; 0 if a place is free. */
    private int[] index = NOTHING;
    private int rows;
    /** The row that was made last. Volatile, so that a thread that reads this field also sees that row's words. */
    private volatile int last;
    /** The number of words of {@link #words} that are in use. */
    private int end = 1;
    /** True if the memory of this object counts against the limit of {@link Budget}. */
    private boolean isHeld;

    Latencies(boolean isHeld) {
        this.isHeld = isHeld;
    }

    /**
     * Begins to count. The classes are used here first, because probes must not be the first to use them, see
     * {@link Counters#rehearse}.
     */
    static void begin() {
        new Latencies(false).place(0, Buckets.of(1000));
        areCounted = true;
    }

    /**
     * Finds or makes the word that counts a bucket's calls, and returns its index in {@link #words}; -1 if there
     * is no room. A method whose count is full gets another row; readers add both up.
     */
    int place(int method, int bucket) {
        int group = bucket >> Buckets.PART_BITS;
        int part = bucket & Buckets.PARTS - 1;
        int row = row(method);
        if (row != 0 && words[row + group] != 0 && words[words[row + group] + part] == Integer.MAX_VALUE) {
            row = makeRow(method);
        }
        if (row == 0 || words[row + group] == 0 && !makePage(row + group)) {
            return -1;
        }
        return words[row + group] + part;
    }

    private int row(int method) {
        int row = index[find(index, method)];
        return row != 0 ? row : makeRow(method);
    }

    /** Returns the index of a method in the hash table, or of the free place for it. */
    private int find(int[] index, int method) {
        int mask = index.length - 1;
        int at = method * 0x9E3779B9 >>> 8 & mask;
        while (index[at] != 0 && words[index[at] + METHOD] != method) {
            at = at + 1 & mask;
        }
        return at;
    }

    /** Makes a row, which replaces an earlier row of the method in the hash table. Returns 0 if there is no room. */
    private int makeRow(int method) {
        if (!hasRoom(ROW + Buckets.PARTS) || 2 * (rows + 1) > index.length && !lengthenIndex()) {
            return 0;
        }
        int[] words = this.words;
        int row = end;
        int at = find(index, method);
        // No method may be called below: a StackOverflowError would leave the update half done.
        words[row + METHOD] = method;
        words[row + BEFORE] = last;
        end = row + ROW;
        rows++;
        index[at] = row;
        last = row;
        return row;
    }

    private boolean makePage(int at) {
        if (!hasRoom(Buckets.PARTS)) {
            return false;
        }
        // No method may be called below: a StackOverflowError would leave the update half done.
        words[at] = end;
        end += Buckets.PARTS;
        return true;
    }

    private boolean hasRoom(int more) {
        int length = words.length;
        if (end + more <= length) {
            return true;
        }
        int longer = length < 512 ? 1024 : 2 * length;
        if (longer < length || !Budget.hasRoom(4L * longer) || isHeld && !Budget.holdLatencies(4L * (longer - length))) {
            return false;
        }
        try {
            int[] copy = new int[longer];
            System.arraycopy(words, 0, copy, 0, end);
            words = copy;
            return true;
        } catch (OutOfMemoryError error) {
            if (isHeld) {
                Budget.holdLatencies(4L * (length - longer));
            }
            return false;
        }
    }

    private boolean lengthenIndex() {
        int length = index.length < 16 ? 32 : 2 * index.length;
        if (!Budget.hasRoom(4L * length)) {
            return false;
        }
        try {
            int[] longer = new int[length];
            for (int at = 0; at < index.length; at++) {
                int row = index[at];
                if (row != 0) {
                    longer[find(longer, words[row + METHOD])] = row;
                }
            }
            index = longer;
            return true;
        } catch (OutOfMemoryError error) {
            return false;
        }
    }

    /**
     * Adds the calls of another object, whose thread may be counting. Calls for which there is no room are left
     * out.
     */
    void add(Latencies other) {
        int row = other.last;
        int[] from = other.words;
        for (; row != 0; row = from[row + BEFORE]) {
            for (int group = 0; group < Buckets.GROUPS; group++) {
                int page = from[row + group];
                for (int part = 0; page != 0 && part < Buckets.PARTS; part++) {
                    add(from[row + METHOD], group * Buckets.PARTS + part, from[page + part]);
                }
            }
        }
    }

    /**
     * Moves the calls of another object into this one. If an exception interrupts this method, it can be called again.
     * Calls for which there is no room are lost.
     */
    void take(Latencies other) {
        int[] from = other.words;
        for (int row = other.last; row != 0; row = from[row + BEFORE]) {
            for (int group = 0; group < Buckets.GROUPS; group++) {
                int page = from[row + group];
                for (int part = 0; page != 0 && part < Buckets.PARTS; part++) {
                    int calls = from[page + part];
                    // The count is cleared first, so that a second attempt after an exception does not add the
                    // calls again.
                    from[page + part] = 0;
                    add(from[row + METHOD], group * Buckets.PARTS + part, calls);
                }
            }
        }
    }

    private void add(int method, int bucket, int calls) {
        int left = calls;
        while (left > 0) {
            int place = place(method, bucket);
            if (place < 0) {
                return;
            }
            int more = Math.min(left, Integer.MAX_VALUE - words[place]);
            words[place] += more;
            left -= more;
        }
    }

    /** Returns the row that was made last; 0 if there is none. */
    int last() {
        return last;
    }

    /** Returns the row that was made before another one; 0 if there is none. */
    int before(int row) {
        return words[row + BEFORE];
    }

    /** Writes the record of a row, see {@link Snapshot}. Returns the number of words. */
    int write(int row, long[] into, int at) {
        int[] words = this.words;
        int end = at + 3;
        for (int group = 0; group < Buckets.GROUPS; group++) {
            int page = words[row + group];
            for (int part = 0; page != 0 && part < Buckets.PARTS; part++) {
                if (words[page + part] != 0) {
                    into[end++] = (long) words[page + part] << BUCKET_BITS | group * Buckets.PARTS + part;
                }
            }
        }
        into[at] = Snapshot.LATENCIES;
        into[at + 1] = words[row + METHOD];
        into[at + 2] = end - at - 3;
        return end - at;
    }

    long bytes() {
        return 48 + 4L * words.length + 4L * index.length;
    }

    /**
     * Gives the memory back to the limit of {@link Budget}, once. The object keeps its calls. So another object
     * can {@link #take} them, even if the limit was used up.
     */
    void giveBack() {
        if (isHeld) {
            // Cleared first, so that a second attempt after an exception does not give the memory back again.
            isHeld = false;
            Budget.holdLatencies(4L * (NOTHING.length - words.length));
        }
    }
}
