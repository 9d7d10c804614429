package loadhook;

/** The trees of the threads that have ended, by the threads' names, in which numbers do not count. */
final class Groups {
    private static final int MOST = 256;
    private static final String OTHERS = "(other threads)";

    static final String[] NAMES = new String[MOST + 1];
    static final Tree[] TREES = new Tree[MOST + 1];
    static int count;

    private static int last;
    private static int[] map = new int[64];

    /** Made for the path that is added next. */
    private static Tree into;
    private static Reading reading;

    private Groups() {
    }

    /**
     * Adds the path of a thread that has ended, which is not used any more unless it is cleared. The caller holds the
     * registry's lock. Whether the path keeps its arrays.
     */
    static boolean add(Path path, boolean wantsArrays) {
        Tree tree = into;
        Reading reading = Groups.reading;
        into = null;
        Groups.reading = null;
        if (path.end == Tree.STRIDE) {
            return true;
        }
        if (!wantsArrays && tree.end == Tree.STRIDE) {
            tree.adopt(path);
            return false;
        }
        // For the limit the nodes move. What they find taken then, by another thread, becomes overflow.
        Budget.giveBack(path.taken());
        tree.add(reading, mapFor(reading));
        Budget.giveBack(-path.taken());
        return true;
    }

    /** All that may find no memory, so that adding this path does not. */
    static void prepare(Path path) {
        if (path.end != Tree.STRIDE) {
            String name = withoutNumbers(path.name());
            // Calls that have no times, where others of that name would have them.
            boolean untimed = path.mode != Timing.mode;
            into = TREES[find(untimed ? name.concat(" (virtual)") : name)];
            reading = new Reading(path);
        }
    }

    /** An array for {@link Tree#add}, null if there is no room for one. */
    static int[] mapFor(Reading reading) {
        int nodes = reading.end / Tree.STRIDE;
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
            TREES[at] = new Tree(Timing.mode, 32);
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
