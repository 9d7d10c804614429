package loadhook;

/**
 * The paths of threads that have ended. They wait to be merged into {@link EndedThreads}; small ones are then
 * pooled for new threads. The caller of every method here holds the registry's lock, see {@link Lock}.
 */
final class EndedPaths {
    private static final int MOST_POOLED = 64;

    /** Empty paths for new threads, linked by {@link PathState#next}. */
    static Path pool;
    static int pooled;
    /**
     * Paths that ended while a snapshot read them, or while the heap was full. They are linked by
     * {@link PathState#next}, too.
     */
    static Path waiting;
    /** The path that is being merged. After a merge it is null, unless an exception interrupted the merge. */
    private static Path merging;

    private EndedPaths() {
    }

    /** Drops all paths. */
    static void forget() {
        pool = null;
        pooled = 0;
        waiting = null;
        merging = null;
    }

    /**
     * Merges the waiting paths. If the heap has no room, the paths keep waiting until a thread ends or a snapshot
     * begins.
     */
    static void merge() {
        try {
            if (merging != null) {
                mergeOne();
            }
            while (waiting != null && Budget.hasRoomForPath()) {
                EndedThreads.prepare(waiting);
                // No call and no jump may stand below: an exception would leave the update half done.
                Path path = waiting;
                merging = path;
                waiting = path.next;
                mergeOne();
            }
        } catch (OutOfMemoryError error) {
            // Nothing was changed, so the path keeps waiting.
        }
    }

    /**
     * Merges the next path. If an exception interrupted the previous merge,
     * continues that one instead.
     */
    private static void mergeOne() {
        Path path = merging;
        EndedThreads.add(path);
        boolean pools = pooled < MOST_POOLED && path.isSmall();
        if (pools) {
            path.clear();
        }
        if (path.virtual) {
            path.tell(0);
        }
        // No call and no jump may stand below: an exception there would interrupt the hand-over. In the worst case the
        // path is not pooled.
        path.thread = null;
        path.held = null;
        path.name = null;
        path.next = null;
        merging = null;
        if (pools) {
            path.next = pool;
            pool = path;
            pooled++;
        }
    }
}
