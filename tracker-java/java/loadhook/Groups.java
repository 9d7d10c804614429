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

    private Groups() {
    }

    /**
     * Adds the path of a thread that has ended, which is not used any more unless it is cleared. The caller holds the
     * registry's lock. Whether the path keeps its arrays.
     */
    static boolean add(Path path, boolean wantsArrays) {
        if (path.end == Tree.STRIDE) {
            return true;
        }
        Tree tree = TREES[find(withoutNumbers(path.thread.getName()))];
        if (!wantsArrays && tree.end == Tree.STRIDE) {
            tree.adopt(path);
            return false;
        }
        // For the limit the nodes move. What they find taken then, by another thread, becomes overflow.
        Budget.giveBack(path.taken());
        Reading reading = new Reading(path);
        tree.add(reading, mapFor(reading));
        Budget.giveBack(-path.taken());
        return true;
    }

    /** An array for {@link Tree#add}, null if there is no room for one. */
    static int[] mapFor(Reading reading) {
        int nodes = reading.end / Tree.STRIDE;
        if (map.length < nodes) {
            if (!Budget.hasRoom(8L * nodes)) {
                return null;
            }
            map = new int[2 * nodes];
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
            NAMES[at] = at == MOST ? OTHERS : name;
            TREES[at] = new Tree(Timing.mode, 32);
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
