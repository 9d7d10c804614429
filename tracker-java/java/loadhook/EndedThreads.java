package loadhook;

/** The trees of ended threads, summed by the threads' names, in which {@code #} stands for each number. */
final class EndedThreads {
    private static final int MOST = 256;
    private static final String OTHERS = "(other threads)";

    static final String[] NAMES = new String[MOST + 1];
    static final MergedTree[] TREES = new MergedTree[MOST + 1];
    static int count;

    private static int last;
    private static int[] map = new int[64];

    /** The merge of the path that was prepared last. It is null once that path is added. */
    private static TreeMerge merge;

    private EndedThreads() {
    }

    /** Drops all trees. */
    static void forget() {
        merge = null;
        while (count > 0) {
            count--;
            NAMES[count] = null;
            TREES[count] = null;
        }
        last = 0;
        map = new int[64];
    }

    /** Allocates the memory that adding this path needs. The caller holds the registry's lock. */
    static void prepare(Path path) {
        merge = null;
        if (!path.isEmpty()) {
            String name = withoutNumbers(path.name());
            // Threads whose calls have no times are summed up in trees of their own.
            boolean untimed = path.mode != Timing.paths;
            MergedTree sum = TREES[find(untimed ? name.concat(" (virtual)") : name)];
            sum.isUntimed |= path.mode == Timing.COUNT;
            TreeReader reader = new TreeReader(path);
            merge = new TreeMerge(sum, reader, mapFor(reader));
        }
    }

    /**
     * Adds the path that was prepared. If an exception interrupts this method, another call continues where the
     * first one stopped.
     */
    static void add(Path path) {
        TreeMerge merge = EndedThreads.merge;
        // An adopted tree has no nodes left to add.
        if (merge == null || path.isEmpty()) {
            return;
        }
        if (merge.sum.end == Tree.STRIDE && !path.isSmall()) {
            merge.sum.adopt(path);
        } else {
            merge.run();
            // The nodes that the merge has made in the sum still count against the limit. The other nodes of the
            // path are given back.
            Budget.giveBack(path.taken() - merge.made());
        }
        long cpu = CpuTime.sum(merge.sum.cpu, path.cpuSpent);
        // No call and no jump may stand below: after an exception there, the time could be added twice.
        merge.sum.cpu = cpu;
        EndedThreads.merge = null;
    }

    /** Returns the map that a {@link TreeMerge} needs, or null if there is no room for it. */
    static int[] mapFor(TreeReader reader) {
        int nodes = reader.end / Tree.STRIDE;
        if (map.length < nodes) {
            if (!Budget.hasRoom(8L * nodes)) {
                return null;
            }
            try {
                map = new int[2 * nodes];
            } catch (OutOfMemoryError error) {
                return null;
            }
        }
        return map;
    }

    private static int find(String name) {
        if (count > 0 && name.equals(NAMES[last])) {
            return last;
        }
        int at = 0;
        while (at < count && at < MOST && !name.equals(NAMES[at])) {
            at++;
        }
        if (at == count) {
            TREES[at] = new MergedTree();
            NAMES[at] = at == MOST ? OTHERS : name;
            count++;
        }
        last = at;
        return at;
    }

    static String withoutNumbers(String name) {
        char[] changed = null;
        int length = 0;
        for (int at = 0; at < name.length(); at++) {
            char c = name.charAt(at);
            boolean digit = c >= '0' && c <= '9';
            if (digit && changed == null) {
                changed = new char[name.length()];
                name.getChars(0, at, changed, 0);
                length = at;
            }
            if (changed != null && !(digit && length > 0 && changed[length - 1] == '#')) {
                changed[length++] = digit ? '#' : c;
            }
        }
        return changed == null ? name : new String(changed, 0, length);
    }
}
