package loadhook;

import java.lang.ref.WeakReference;

/**
 * A thread's tree and where the thread is in it: the methods under way, from the outermost on.
 *
 * A frame of the path is one long: in its upper half the node, in its lower half the last tick before the call. Ticks are
 * even; the frame is odd that has more to say, timed or without a node, in {@code stamps}. So what is neither touches
 * little memory. Frame 0 is the root.
 *
 * The path heals. A constructor whose {@code super(…)} throws runs no exit probe, and a StackOverflowError may keep any
 * probe from running; what lies above the method that the next probe names has ended, then.
 *
 * So a constructor is marked while it calls another one for the same object, which nothing in it can catch: it ends where
 * that one ends by an exception, and a probe that it runs itself is never for a frame that is marked.
 */
class Path extends AllocatingTree {
    /** Half of the calls that are not for the callee foreseen are for one of so many behind it. */
    private static final int FAR = 5;

    /** Of {@link Ticker}'s units: about a second. */
    private static final int LONG_STOP = 1 << 17;

    /** The double of it is more frames than most stacks hold, and no more than a row can count. */
    private static final int MOST_FRAMES = 1 << 20;

    /** Of {@link #owner}: no thread's id. */
    static final long NOBODY = -1;

    /**
     * The thread's {@link Ids#owner}, or {@link #NOBODY} while it is inside something slow, so that probes met there are not for
     * this path.
     */
    long owner = NOBODY;

    /** Weak, since nobody may tell us of its end: what hangs on a thread is not to live as long as its calls. */
    WeakReference<Thread> thread;
    /** The thread, where its id does not tell it from others or takes too long to be read; else null. A weak reference cannot
     * be asked on the way to a path. */
    Thread held;
    /** What it was called when it was seen last. */
    String name;
    long id;
    boolean virtual;
    /** The thread's {@link CpuTime} when it got the path. */
    long cpuBegan;
    /** What it took since, once it has ended. */
    long cpuSpent;
    /** Of a virtual thread's: the bytes that the budget knows of. */
    private long told;
    /** The next one in the registry's chain, or in the pool. */
    Path next;
    /** How often the cache did not have it. */
    int misses;

    /** The uppermost frame. */
    int depth;
    /** One more than frames, for the frame of what found no room. */
    long[] back;

    /** For each odd frame two: when it began and its weight, negative if inside another call of its node; or, without a
     * node, its method and 0. */
    long[] stamps;
    int stamped;

    /** The tick up to which time is given to nodes, see {@link #attribute}; 0 if there was none. */
    private int seen;
    /** What the clock showed when that was done. */
    private long seenNanos;

    /** Calls beyond a path that found no room to grow; all of them are one frame, of the overflow. */
    private int beyond;

    /** For each marked frame, from the outermost on: which it is, its key and that of the one called. */
    private int[] marks;
    int marked;

    Path(int mode, int nodes, int frames, long seed) {
        super(mode, nodes, seed);
        back = new long[frames + 2];
        stamps = new long[2 * frames];
    }

    static int node(long frame) {
        return (int) (frame >> 32);
    }

    static int began(long frame) {
        return (int) frame & ~1;
    }

    static boolean isOdd(long frame) {
        return (frame & 1) != 0;
    }

    private static long frame(int node) {
        return (long) node << 32 | Ticker.last() & 0xFFFFFFFFL;
    }

    final void enter(int method) {
        long[] back = this.back;
        int[] rows = this.rows;
        int depth = this.depth;
        int from = (int) (back[depth] >> 32);
        int node = rows[from + LAST];
        if (rows[node + METHOD] != method) {
            // Callees follow each other as they did the last time: a method's code, the rounds of a loop.
            node = rows[node + NEXT];
            if (rows[node + METHOD] != method) {
                enterSlowly(method);
                return;
            }
            rows[from + LAST] = node;
        }
        if (depth + 2 >= back.length) {
            enterSlowly(method);
            return;
        }
        int work = rows[node + WORK];
        if ((work & LEFT) == 0) {
            enterTimed(node);
            return;
        }
        long frame = frame(node);
        // No call from here on.
        rows[node + WORK] = work + CALL - 1;
        back[depth + 1] = frame;
        this.depth = depth + 1;
    }

    final void exit(int method) {
        int depth = this.depth;
        long frame = back[depth];
        int node = (int) (frame >> 32);
        int[] rows = this.rows;
        if (rows[node + METHOD] != method) {
            heal(method, true);
        } else if ((frame & 1) != 0 || (int) frame != Ticker.last()) {
            end(isClockNeeded(frame) ? Clock.now() : 0);
        } else {
            rows[node + WORK] -= CALL;
            this.depth = depth - 1;
        }
    }

    final void caught(int method) {
        if (method(depth) != method || isMarked()) {
            heal(method, false);
        }
    }

    /** A constructor calls another one for the same object. */
    final void construct(int method, int key, int other) {
        if (beyond != 0) {
            return;
        }
        caught(method);
        if (method(depth) != method || isMarked() || !roomForMark()) {
            return;
        }
        int[] marks = this.marks;
        int at = 3 * marked;
        // No call from here on.
        marks[at] = depth;
        marks[at + 1] = key;
        marks[at + 2] = other;
        marked++;
    }

    /** The one called has returned. */
    final void constructed(int method) {
        if (isMarked() && method(depth) == method) {
            marked--;
            return;
        }
        if (beyond != 0) {
            return;
        }
        for (int mark = marked - 1; mark >= 0; mark--) {
            int frame = marks[3 * mark];
            if (method(frame) == method) {
                unwind(frame, Clock.now());
                // It is the uppermost now.
                marked = mark;
                return;
            }
        }
    }

    /** A constructor ends, by an exception if it tells its key: those that called it for the same object end with it. */
    final void ended(int method, int key) {
        if (isMarked()) {
            heal(method, true);
        } else {
            exit(method);
        }
        int[] marks = this.marks;
        int thrown = key;
        while (thrown != 0 && isMarked() && marks[3 * marked - 1] == thrown) {
            thrown = marks[3 * marked - 2];
            end(Clock.now());
        }
    }

    final void alloc(int site) {
        alloc(node(back[depth]), site);
    }

    final void allocArray(int length, int siteAndKind) {
        allocArray(node(back[depth]), length, siteAndKind);
    }

    final void allocDimension(int length, int dimension, int siteAndKind) {
        allocDimension(node(back[depth]), length, dimension, siteAndKind);
    }

    private int method(int frame) {
        return rows[node(back[frame]) + METHOD];
    }

    /** Whether the uppermost frame is. */
    private boolean isMarked() {
        return marked != 0 && marks[3 * marked - 3] == depth;
    }

    private void enterSlowly(int method) {
        if (beyond != 0) {
            enterBeyond();
            return;
        }
        int from = node(back[depth]);
        int node = rows[from + METHOD] == method ? from : ahead(from, method);
        if (node == ROOT) {
            node = callee(from, method);
        }
        if (depth + 2 >= back.length) {
            if (!deepen()) {
                enterBeyond();
                return;
            }
            from = node(back[depth]);
            node = callee(from, method);
        }
        if (node == overflow) {
            enterOverflow(node, method);
        } else if ((rows[node + WORK] & LEFT) == 0) {
            enterTimed(node);
        } else {
            long frame = frame(node);
            // No call from here on.
            rows[node + WORK] += CALL - 1;
            back[depth + 1] = frame;
            depth++;
        }
    }

    /** The callee if it comes soon: what came between the last time does not always. Else the root. */
    private int ahead(int from, int method) {
        int[] rows = this.rows;
        int node = rows[from + LAST];
        for (int step = 0; step < FAR; step++) {
            node = rows[node + NEXT];
            if (rows[node + METHOD] == method) {
                rows[from + LAST] = node;
                return node;
            }
        }
        return ROOT;
    }

    private void enterTimed(int node) {
        if (mode == Timing.EXACT && 2 * stamped < stamps.length) {
            enterExactly(node);
            return;
        }
        if (mode == Timing.COUNT || 2 * stamped == stamps.length && !moreStamps()) {
            enterUntimed(node);
            return;
        }
        int weight = weight(node);
        long block = nextBlock(node);
        long frame = frame(node) | 1;
        long signed = rows[node + WORK] < CALL ? weight : -weight;
        long start = Clock.now();
        grantBlock(node, block);
        // No call from here on.
        int at = 2 * stamped++;
        stamps[at] = start;
        stamps[at + 1] = signed;
        back[depth + 1] = frame;
        depth++;
    }

    /** A call of a path that times each: no draw, and no tick. */
    private void enterExactly(int node) {
        int depth = this.depth;
        int at = 2 * stamped;
        long signed = rows[node + WORK] < CALL ? 1 : -1;
        long start = Clock.now();
        grant(node, 0);
        // No call from here on.
        stamps[at] = start;
        stamps[at + 1] = signed;
        stamped = at / 2 + 1;
        back[depth + 1] = (long) node << 32 | 1;
        this.depth = depth + 1;
    }

    /** A call whose turn it was to be timed; in count mode that comes every 256 calls. */
    private void enterUntimed(int node) {
        long frame = frame(node);
        grant(node, mode == Timing.COUNT ? LEFT : 0);
        // No call from here on.
        back[depth + 1] = frame;
        depth++;
    }

    private void enterOverflow(int node, int method) {
        if (2 * stamped == stamps.length && !moreStamps()) {
            enterBeyond();
            return;
        }
        long frame = frame(node) | 1;
        // No call from here on.
        times[2 * node + GRANTED] += CALL;
        int at = 2 * stamped++;
        stamps[at] = method;
        stamps[at + 1] = 0;
        rows[node + WORK] += CALL;
        back[depth + 1] = frame;
        depth++;
    }

    /** Counts a call for which there is no frame. */
    private void enterBeyond() {
        int node = overflow();
        long frame = frame(node) | 1;
        // No call from here on.
        times[2 * node + GRANTED] += CALL;
        if (beyond++ == 0) {
            back[depth + 1] = frame;
            depth++;
        }
    }

    /** Whether the end of a frame that is timed, or has seen a tick, books time. The clock of processor time is slow. */
    private boolean isClockNeeded(long frame) {
        return Clock.kind == Clock.WALL || isOdd(frame) || mode == Timing.ADAPTIVE && seen != Ticker.last();
    }

    /** Ends the uppermost frame; {@code now} is 0 where {@link #isClockNeeded} says no. */
    private void end(long now) {
        int depth = this.depth;
        long frame = back[depth];
        int last = Ticker.last();
        if (last != seen && now != 0 && mode == Timing.ADAPTIVE) {
            attribute(last, now);
        }
        int node = (int) (frame >> 32);
        int from = (int) (back[depth - 1] >> 32);
        int stamps = stamped;
        if ((frame & 1) != 0) {
            int at = 2 * --stamps;
            long weight = this.stamps[at + 1];
            if (weight == 1 || weight == -1) {
                book(node, from, now - this.stamps[at], weight == 1);
            } else if (weight != 0) {
                book(node, from, now - this.stamps[at], weight, began(frame), now);
            }
        } else {
            bookTicks(node, from, began(frame), now);
        }
        int marked = this.marked;
        if (marked != 0 && marks[3 * marked - 3] == depth) {
            marked--;
        }
        // No call from here on, nor between the writes of book: a frame is booked and ended, or neither.
        rows[node + WORK] -= CALL;
        stamped = stamps;
        this.marked = marked;
        this.depth = depth - 1;
    }

    /**
     * Gives the time since the last tick that was looked at to the nodes that ticks found on top.
     *
     * A frame remembers the last tick before it. So a tick found the uppermost frame on top of those that began before it:
     * such a frame is still there, or would have met the tick at its end and have come here. By the wall clock a tick
     * stands for the time since the one before it. By the clock of processor time all ticks since the last time here share
     * what the thread used since then.
     */
    private void attribute(int last, long now) {
        boolean wall = Clock.kind == Clock.WALL;
        int from = seen == 0 && wall ? began(back[1]) : seen;
        long span = Ticker.units(from, last);
        long nanos = wall ? Ticker.nanos(span) : now - seenNanos;
        double distance = Ticker.units(Ticker.before(), last);
        // Behind a stop of the whole machine's, who was on top tells nothing of it.
        if (from != 0 && span != 0 && nanos > 0 && distance < LONG_STOP && roomForTicks()) {
            long[] back = this.back;
            long[] ticks = this.ticks;
            int upTo = last;
            // No call from here on.
            for (int frame = depth; frame > 0 && upTo - from > 0; frame--) {
                int began = (int) back[frame] & ~1;
                if (began == 0) {
                    break;
                }
                if (began - from < 0) {
                    began = from;
                }
                if (upTo - began > 0) {
                    double units = upTo - began;
                    double time = nanos * (units / span);
                    int at = (int) (back[frame] >> 32) / 2;
                    ticks[at] += (long) time;
                    // Each tick hits the node or not: the square of what it stands for.
                    long squares = ticks[at + 1] + (long) (time * (distance < units ? time * (distance / units) : time) / TICK_SQUARE);
                    ticks[at + 1] = squares < 0 ? Long.MAX_VALUE : squares;
                    upTo = began;
                }
            }
        }
        seen = last;
        seenNanos = now;
    }

    /** Ends what lies above the uppermost unmarked frame of a method, and that frame if told so; nothing if there is none. */
    private void heal(int method, boolean itself) {
        if (beyond != 0) {
            if (itself && --beyond != 0) {
                return;
            }
            beyond = 0;
            depth--;
            if (itself) {
                return;
            }
        }
        int[] rows = this.rows;
        int at = 2 * stamped;
        int mark = 3 * marked - 3;
        for (int frame = depth; frame > 0; frame--) {
            long word = back[frame];
            if (isOdd(word)) {
                at -= 2;
            }
            int found = rows[node(word) + METHOD];
            if (mark >= 0 && marks[mark] == frame) {
                mark -= 3;
            } else if (found == method || found == OVERFLOW && stamps[at] == method) {
                unwind(itself ? frame - 1 : frame, Clock.now());
                return;
            }
        }
    }

    /** The thread ends in the midst of its calls, by {@code System.exit}. */
    final void finish() {
        if (beyond != 0) {
            beyond = 0;
            depth--;
        }
        if (depth != 0) {
            unwind(0, Clock.now());
        }
    }

    private void unwind(int frame, long now) {
        while (depth > frame) {
            end(now);
        }
    }

    // Room, made before anything is written.

    private boolean deepen() {
        long thread = owner;
        owner = NOBODY;
        try {
            if (Stack.isWorthALook(depth) && Stack.isShallowerThan(depth)) {
                keepOneOfEach();
            }
            return depth + 2 < back.length || lengthen();
        } finally {
            owner = thread;
        }
    }

    private boolean lengthen() {
        if (back.length > MOST_FRAMES || !hasRoom(16L * back.length)) {
            return false;
        }
        try {
            back = Arrays.longer(back);
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

    /** A virtual thread's path tells the budget what it holds; 0 when it ends. */
    final void tell(long bytes) {
        long more = bytes - told;
        told = bytes;
        Budget.holdVirtual(more);
    }

    private boolean roomForMark() {
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

    private boolean moreStamps() {
        if (!hasRoom(16L * stamps.length)) {
            return false;
        }
        try {
            stamps = Arrays.longer(stamps);
            grown();
            return true;
        } catch (OutOfMemoryError error) {
            return false;
        }
    }

    /**
     * The path is deeper than the stack, so it holds frames of calls that have ended. Which ones cannot be told from
     * inside; but what comes back without end is one constructor that an uninstrumented caller tries again and again,
     * and its node. So one frame of each node stays, the outermost. No time is booked: when the others ended is unknown.
     */
    private void keepOneOfEach() {
        int[] rows = this.rows;
        int kept = 0;
        int keptStamps = 0;
        int keptMarks = 0;
        int stamp = 0;
        int mark = 0;
        for (int frame = 1; frame <= depth; frame++) {
            long word = back[frame];
            int node = node(word);
            boolean isMarked = mark < 3 * marked && marks[mark] == frame;
            // Negative marks the nodes that are kept already.
            if (rows[node + WORK] >= 0) {
                rows[node + WORK] |= Integer.MIN_VALUE;
                back[++kept] = word;
                if (isOdd(word)) {
                    stamps[keptStamps] = stamps[stamp];
                    stamps[keptStamps + 1] = stamps[stamp + 1];
                    keptStamps += 2;
                }
                if (isMarked) {
                    marks[keptMarks] = kept;
                    marks[keptMarks + 1] = marks[mark + 1];
                    marks[keptMarks + 2] = marks[mark + 2];
                    keptMarks += 3;
                }
            }
            stamp += isOdd(word) ? 2 : 0;
            mark += isMarked ? 3 : 0;
        }
        for (int frame = 1; frame <= kept; frame++) {
            int node = node(back[frame]);
            rows[node + WORK] = rows[node + WORK] & CALL - 1 | CALL;
        }
        depth = kept;
        stamped = keptStamps / 2;
        marked = keptMarks / 3;
    }

    /** Its thread, or null if that has ended and is gone. */
    final Thread thread() {
        WeakReference<Thread> thread = this.thread;
        return thread == null ? null : thread.get();
    }

    final boolean isOf(Thread thread) {
        return thread() == thread;
    }

    /** What its thread is called, or was. */
    final String name() {
        Thread thread = thread();
        if (thread != null) {
            name = thread.getName();
        }
        return name;
    }

    /** Whether its arrays are hardly larger than a new one's. */
    final boolean isSmall() {
        int[] marks = this.marks;
        return rows.length <= 64 * STRIDE && back.length <= 256 && stamps.length <= 256 && (marks == null || marks.length <= 256);
    }

    /** Forgets the frames, of which the times are unknown, and all nodes. */
    @Override
    void clear() {
        super.clear();
        depth = 0;
        stamped = 0;
        marked = 0;
        beyond = 0;
        seen = 0;
    }

    @Override
    long bytes() {
        int[] marks = this.marks;
        return super.bytes() + 216 + 8L * back.length + 8L * stamps.length + (marks == null ? 0 : 4L * marks.length);
    }
}
