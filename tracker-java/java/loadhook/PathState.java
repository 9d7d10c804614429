package loadhook;

import java.lang.ref.WeakReference;

/**
 * The data of a path: its owner, its frames, and the growth of their arrays. {@link Path} explains
 * paths.
 *
 * A frame is one long: its lower half is the node, its upper half the last tick before the call. Nodes are even. The
 * frame of a call that is only counted is odd; such a call stores nothing else. The frame of a timed call also has a
 * word in {@code stamps}. A path that times every call needs no ticks, so each of its frames is just the node. Frame 0
 * is the root.
 *
 * Fields of subclasses are in this class, too. So all fields have the order in memory with which performance was
 * measured. Only the last fields in memory are in {@link UnwindingPath}.
 */
class PathState extends AllocatingTree {
    /** Value of {@link #owner} if no thread owns the path. */
    static final long NOBODY = -1;

    private static final byte[] NO_WEIGHTS = {};

    /**
     * Half of the maximum number of frames. The maximum exceeds the depth of most stacks, and fits into the
     * counter of running calls in a row.
     */
    private static final int MOST_FRAMES = 1 << 20;

    /**
     * The thread's {@link Ids#owner}. {@link #NOBODY} while the thread runs slow code of the
     * tracker, whose probes must not use this path.
     */
    long owner = NOBODY;

    /**
     * The thread. The reference is weak, because the end of a thread may not be reported. The
     * objects of a thread must not live as long as its counts.
     */
    WeakReference<Thread> thread;
    /**
     * The thread itself if its id is not unique or takes too long to read, otherwise null. The
     * search for a path cannot call a method of a weak reference.
     */
    Thread held;
    /** The thread's name when it was last read. */
    String name;
    long id;
    boolean virtual;
    /** The thread's {@link CpuTime} when it got the path. */
    long cpuBegan;
    /** Processor time that the thread used since it got the path; known once the thread has ended. */
    long cpuSpent;
    /** Bytes that a virtual thread's path has reported to {@link Budget}. */
    private long reported;
    /** The next path in the registry's chain, or in the pool. */
    Path next;
    /** The number of times that the cache of {@link Threads} did not contain this path. */
    int misses;

    /** Index of the uppermost frame. */
    int depth;
    /**
     * The frames. The last element is reserved for one frame that stands for all calls that found
     * no room.
     */
    long[] back;

    /**
     * For each timed frame the time of its beginning; for the frame of the overflow its method. The array is as long
     * as {@code back}.
     */
    long[] stamps;
    /**
     * For each timed frame its weight, if the path draws the calls that are timed. Otherwise the array is empty,
     * because all weights are 1.
     */
    byte[] weights;
    /**
     * The depth below which an interpreted probe may enter a call and time it, see {@link Interpreted}. Below this
     * depth the arrays have room for a frame. The value is 0 if the path does not time every call.
     */
    int exactly;

    /** The thread's calls by duration. Null until one is counted, and always on the path of a virtual thread. */
    Latencies latencies;

    /** The last tick that {@link UnwindingPath#attribute} gave to a node; 0 if there was none. */
    int seen;
    /** The reading of the CPU clock at the tick {@link #seen}, see {@link UnwindingPath#attribute}. */
    long seenNanos;

    /**
     * The number of calls for which the path found no room to grow. All of them share one frame,
     * that of the overflow node.
     */
    int beyond;

    /**
     * Three words for each marked frame, from the outermost on: the frame's index, its key, and the key of the
     * called constructor.
     */
    int[] marks;
    /** Number of marked frames. */
    int marked;

    PathState(int mode, int nodes, int frames, long seed) {
        super(mode, nodes, seed);
        back = new long[frames + 2];
        stamps = new long[frames + 2];
        weights = mode == Timing.ADAPTIVE ? new byte[frames + 2] : NO_WEIGHTS;
        setMode(mode);
    }

    /** Sets the mode, and the fields that follow from it and from the length of the path. */
    final void setMode(int mode) {
        this.mode = mode;
        exactly = mode == Timing.EXACT ? back.length - 2 : 0;
    }

    static int node(long frame) {
        return (int) frame & ~1;
    }

    /** Returns the last tick before the call of a frame; 0 on a path that times every call. */
    static int began(long frame) {
        return (int) (frame >> 32);
    }

    static boolean isTimed(long frame) {
        return (frame & 1) == 0;
    }

    /** Returns the weight of a timed frame; 0 if the frame is that of the overflow. */
    final int weight(int frame, int node) {
        if (node == overflow) {
            return 0;
        }
        return mode == Timing.ADAPTIVE ? weights[frame] & 0xFF : 1;
    }

    final int method(int frame) {
        return rows[node(back[frame]) + METHOD];
    }

    /** Returns whether the uppermost frame is marked. */
    final boolean isMarked() {
        return marked != 0 && marks[3 * marked - 3] == depth;
    }

    /** Returns the path's thread, or null if it has ended and was collected. */
    final Thread thread() {
        WeakReference<Thread> thread = this.thread;
        return thread == null ? null : thread.get();
    }

    final boolean isOf(Thread thread) {
        return thread() == thread;
    }

    /** Returns the name of the path's thread, or its last known name if the thread was collected. */
    final String name() {
        Thread thread = thread();
        if (thread != null) {
            name = thread.getName();
        }
        return name;
    }

    /** Returns whether the path's arrays are about as long as those of a new path. */
    final boolean isSmall() {
        int[] marks = this.marks;
        return rows.length <= 64 * STRIDE && back.length <= 256 && (marks == null || marks.length <= 256);
    }

    // The methods below make room before anything is written.

    final boolean lengthen() {
        int length = back.length;
        if (length > MOST_FRAMES || !hasRoom((weights == NO_WEIGHTS ? 32L : 34L) * length)) {
            return false;
        }
        try {
            long[] longerBack = Arrays.longer(back);
            long[] longerStamps = Arrays.longer(stamps);
            byte[] longerWeights = weights == NO_WEIGHTS ? NO_WEIGHTS : Arrays.longer(weights);
            stamps = longerStamps;
            weights = longerWeights;
            back = longerBack;
            setMode(mode);
            grown();
            return true;
        } catch (OutOfMemoryError error) {
            return false;
        }
    }

    @Override
    boolean hasRoom(long bytes) {
        return Budget.hasRoom(bytes) && (!virtual || Budget.hasRoomForVirtual(bytes));
    }

    @Override
    void grown() {
        if (virtual) {
            tell(bytes());
        }
    }

    /**
     * Tells {@link Budget} how many bytes a virtual thread's path holds. The number is 0 when the thread ends.
     */
    final void tell(long bytes) {
        long more = bytes - reported;
        reported = bytes;
        Budget.holdVirtual(more);
    }

    final boolean roomForMark() {
        int[] marks = this.marks;
        if (marks != null && 3 * marked < marks.length) {
            return true;
        }
        if (!Budget.hasRoom(marks == null ? 64 : 8L * marks.length)) {
            return false;
        }
        try {
            this.marks = marks == null ? new int[6] : Arrays.longer(marks);
            return true;
        } catch (OutOfMemoryError error) {
            return false;
        }
    }

    /** Forgets all frames and nodes. The times of the frames are not booked. */
    @Override
    void clear() {
        super.clear();
        depth = 0;
        marked = 0;
        beyond = 0;
        seen = 0;
        seenNanos = 0;
        latencies = null;
    }

    @Override
    long bytes() {
        int[] marks = this.marks;
        return super.bytes() + 240 + 16L * back.length + weights.length + (marks == null ? 0 : 4L * marks.length);
    }
}
