package loadhook;

/**
 * The paths of threads that have ended: they wait to be merged into {@link EndedThreads}, and small ones are pooled for new
 * threads. The caller of every method holds the registry's lock, see {@link Lock}.
 */
final class EndedPaths {
    private static final int MOST_POOLED = 64;

    /** Empty paths for new threads, linked by {@link PathState#next}. */
    static Path pool;
    static int pooled;
    /** Paths that ended while a snapshot reads them, or while the heap was full; linked likewise. */
    static Path waiting;
    /** The path that is being merged; null, unless an exception broke that off. */
    private static Path merging;

    private EndedPaths() {
    }

    /** Merges the waiting paths. Where the heap has no room, they wait for the next thread that ends or the next snapshot. */
    static void merge() {
        try {
            if (merging != null) {
                mergeOne();
            }
            while (waiting != null && Budget.hasRoomForPath()) {
                EndedThreads.prepare(waiting);
                // Neither call nor jump.
                Path path = waiting;
                merging = path;
                waiting = path.next;
                mergeOne();
            }
        } catch (OutOfMemoryError error) {
            // Nothing was changed yet: the path waits.
        }
    }

    /** Merges the path whose turn it is; once more, if an exception broke that off. */
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
        // Neither call nor jump. If one struck here, the path would not be pooled, no more.
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
