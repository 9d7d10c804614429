package loadhook;

/**
 * A thread's tree and where the thread is in it: the methods under way, from the outermost on.
 *
 * A frame of the path is one long. Its upper half is the node to return to, which is not the parent once recursion folds;
 * its lower half is the last tick before the call. A frame with more to say, timed or without a node, has the upper half
 * complemented and an entry in {@code stamps}; so what is neither timed nor odd touches little memory.
 *
 * The path heals. A constructor whose {@code super(…)} throws runs no exit probe, and a StackOverflowError may keep any
 * probe from running; what lies above the method that the next probe names has ended, then.
 *
 * So a constructor is marked while it calls another one for the same object, which nothing in it can catch: it ends where
 * that one ends by an exception, and a probe that it runs itself is never for a frame that is marked.
 */
class Path extends Tree {
    /** The thread, or null while it is inside something slow, so that probes met there are not for this path. */
    Thread owner;

    Thread thread;
    long id;
    boolean virtual;
    /** The next one in the registry's chain, or in the pool. */
    Path next;
    /** How often the cache did not have it. */
    int misses;

    int current;
    int depth;
    long[] back;

    /** For each odd frame two: when it began and its weight, negative if inside another call of its node; or, without a
     * node, its method and 0. */
    long[] stamps;
    int stamped;

    /** Calls beyond a path that found no room to grow, and the node below them. */
    private int beyond;
    private int covered;

    /** For each marked frame, from the outermost on: its place in {@code back}, its key and that of the one called. */
    private int[] marks;
    int marked;

    private long seed;

    Path(int mode, int nodes, int frames, long seed) {
        super(mode, nodes);
        back = new long[frames];
        stamps = new long[2 * frames];
        this.seed = seed == 0 ? 1 : seed;
    }

    final void enter(int method) {
        int[] rows = this.rows;
        int from = current;
        int frame = depth;
        long[] back = this.back;
        int node = rows[from + LAST_CHILD];
        if (rows[from + LAST_METHOD] != method) {
            // Callees follow each other as they did the last time: a method's code, the rounds of a loop.
            node = rows[node + NEXT];
            if (rows[node + METHOD] != method || rows[node + PARENT] != from) {
                enterSlowly(method);
                return;
            }
            rows[from + LAST_METHOD] = method;
            rows[from + LAST_CHILD] = node;
        }
        if (frame < back.length) {
            int left = rows[node + LEFT] - 1;
            if (left >= 0) {
                int tick = Ticker.last();
                // No call from here on.
                rows[node + LEFT] = left;
                rows[node + ACTIVE]++;
                back[frame] = (long) from << 32 | tick & 0xFFFFFFFFL;
                depth = frame + 1;
                current = node;
            } else {
                enterTimed(from, node);
            }
        } else {
            enterSlowly(method);
        }
    }

    final void exit(int method) {
        int[] rows = this.rows;
        int node = current;
        if (rows[node + METHOD] == method) {
            int frame = depth - 1;
            long word = back[frame];
            if (word >= 0 && (int) word == Ticker.last()) {
                rows[node + ACTIVE]--;
                depth = frame;
                current = (int) (word >> 32);
            } else {
                end(Clock.now());
            }
        } else {
            heal(method, true);
        }
    }

    final void caught(int method) {
        if (rows[current + METHOD] != method || isMarked()) {
            heal(method, false);
        }
    }

    /** A constructor calls another one for the same object. */
    final void construct(int method, int key, int other) {
        if (beyond != 0) {
            return;
        }
        caught(method);
        if (rows[current + METHOD] != method || isMarked() || !roomForMark()) {
            return;
        }
        int[] marks = this.marks;
        int at = 3 * marked;
        // No call from here on.
        marks[at] = depth - 1;
        marks[at + 1] = key;
        marks[at + 2] = other;
        marked++;
    }

    /** The one called has returned. */
    final void constructed(int method) {
        if (isMarked() && rows[current + METHOD] == method) {
            marked--;
            return;
        }
        if (beyond != 0) {
            return;
        }
        for (int mark = marked - 1; mark >= 0; mark--) {
            int frame = marks[3 * mark];
            if (rows[nodeOf(frame) + METHOD] == method) {
                unwind(frame + 1, Clock.now());
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

    /** Whether the uppermost frame is. */
    private boolean isMarked() {
        return marked != 0 && marks[3 * marked - 3] == depth - 1 && beyond == 0;
    }

    private void enterSlowly(int method) {
        if (beyond != 0) {
            enterBeyond();
            return;
        }
        int from = current;
        int node = callee(from, method);
        if (depth == back.length) {
            if (!deepen()) {
                enterBeyond();
                return;
            }
            from = current;
            node = callee(from, method);
        }
        if (node == overflow) {
            enterOverflow(from, node, method);
        } else if (rows[node + LEFT] == 0) {
            enterTimed(from, node);
        } else {
            int[] rows = this.rows;
            long frame = frame(from);
            // No call from here on.
            rows[node + LEFT]--;
            rows[node + ACTIVE]++;
            back[depth++] = frame;
            current = node;
        }
    }

    private void enterTimed(int from, int node) {
        if (mode == Timing.COUNT || 2 * stamped == stamps.length && !moreStamps()) {
            enterUntimed(from, node);
            return;
        }
        int[] rows = this.rows;
        long[] times = this.times;
        int block = rows[node + BLOCK];
        int weight = period(block);
        int period = Timing.period(mode, times[node + GRANTED], times[node + RECENT]);
        int skipped = period == 1 ? 0 : draw(period);
        int left = rest(block) + skipped;
        block = block(period, period - 1 - skipped);
        long frame = frame(~from);
        long start = Clock.now();
        // No call from here on.
        rows[node + LEFT] = left;
        times[node + GRANTED] += left + 1;
        rows[node + BLOCK] = block;
        int at = 2 * stamped++;
        stamps[at] = start;
        stamps[at + 1] = rows[node + ACTIVE]++ == 0 ? weight : -weight;
        back[depth++] = frame;
        current = node;
    }

    /** One of {@code period} numbers from 0 on, each as likely. */
    private int draw(int period) {
        long shuffled = Timing.shuffled(seed);
        seed = shuffled;
        return (int) (shuffled >>> 32) & period - 1;
    }

    /** A call whose turn it was to be timed; in count mode that comes every two billion calls. */
    private void enterUntimed(int from, int node) {
        int left = mode == Timing.COUNT ? Integer.MAX_VALUE : 0;
        long frame = frame(from);
        // No call from here on.
        rows[node + LEFT] = left;
        times[node + GRANTED] += 1L + left;
        rows[node + ACTIVE]++;
        back[depth++] = frame;
        current = node;
    }

    private void enterOverflow(int from, int node, int method) {
        if (2 * stamped == stamps.length && !moreStamps()) {
            enterBeyond();
            return;
        }
        long frame = frame(~from);
        // No call from here on.
        times[node + GRANTED]++;
        int at = 2 * stamped++;
        stamps[at] = method;
        stamps[at + 1] = 0;
        rows[node + ACTIVE]++;
        back[depth++] = frame;
        current = node;
    }

    /** Counts a call for which there is no frame. */
    private void enterBeyond() {
        int node = overflow();
        times[node + GRANTED]++;
        if (beyond++ == 0) {
            covered = current;
            current = node;
        }
    }

    private static long frame(int from) {
        return (long) from << 32 | Ticker.last() & 0xFFFFFFFFL;
    }

    private static int callerIn(long frame) {
        int from = (int) (frame >> 32);
        return from < 0 ? ~from : from;
    }

    /** Ends the uppermost frame. */
    private void end(long now) {
        int node = current;
        int frame = depth - 1;
        long word = back[frame];
        int from = callerIn(word);
        int stamps = stamped;
        if (word < 0) {
            int at = 2 * --stamps;
            long weight = this.stamps[at + 1];
            if (weight != 0) {
                book(node, from, now - this.stamps[at], weight, (int) word, now);
            }
        } else {
            bookTicks(node, from, (int) word, now);
        }
        int marked = this.marked;
        if (marked != 0 && marks[3 * marked - 3] == frame) {
            marked--;
        }
        // No call from here on, nor between the writes of book: a frame is booked and ended, or neither.
        rows[node + ACTIVE]--;
        stamped = stamps;
        this.marked = marked;
        depth = frame;
        current = from;
    }

    /** Books a timed call. */
    private void book(int node, int from, long nanos, long signed, int began, long now) {
        long[] times = this.times;
        long weight = signed < 0 ? -signed : signed;
        long sample = Timing.sample(nanos, weight, began);
        long beyond = weight == 1 ? 0 : Ticker.beyond(began, now);
        long estimate = weight * sample + beyond;
        long variance = times[node + VARIANCE];
        if (weight > 1) {
            variance = widened(variance, weight, sample - times[node + RECENT]);
        }
        if (beyond != 0) {
            variance = widened(variance, Ticker.variance(began, beyond, now));
        }
        long recent = Timing.recent(times[node + RECENT], times[node + TIMED], sample);
        times[node + ALL] += estimate;
        if (signed > 0) {
            times[node + OUTERMOST] += estimate;
        }
        times[from + CHILD] += estimate;
        times[node + VARIANCE] = variance;
        times[node + RECENT] = recent;
        times[node + TIMED]++;
    }

    /** Books what ticks tell of a call that was not timed. */
    private void bookTicks(int node, int from, int began, long now) {
        long beyond = Ticker.beyond(began, now);
        if (beyond != 0) {
            long[] times = this.times;
            long variance = widened(times[node + VARIANCE], Ticker.variance(began, beyond, now));
            times[node + ALL] += beyond;
            if (rows[node + ACTIVE] == 1) {
                times[node + OUTERMOST] += beyond;
            }
            times[from + CHILD] += beyond;
            times[node + VARIANCE] = variance;
        }
    }

    /**
     * Of a block of {@code weight} calls one was seen: the variance of its estimate is weight * (weight - 1) times that
     * of a call, and the square of the difference from the mean so far estimates the latter. Not from the call before: a
     * long call makes the blocks behind it short, and would count by half.
     */
    private static long widened(long bits, long weight, double difference) {
        return widened(bits, (double) weight * (weight - 1) * difference * difference);
    }

    private static long widened(long bits, double variance) {
        return Double.doubleToRawLongBits(Double.longBitsToDouble(bits) + variance);
    }

    /** Ends what lies above the uppermost unmarked frame of a method, and that frame if told so; nothing if there is none. */
    private void heal(int method, boolean itself) {
        if (beyond != 0) {
            if (itself) {
                if (--beyond == 0) {
                    current = covered;
                }
                return;
            }
            beyond = 0;
            current = covered;
        }
        int[] rows = this.rows;
        int frame = depth - 1;
        int at = 2 * stamped;
        int mark = 3 * marked - 3;
        for (int node = current; frame >= 0; frame--) {
            long word = back[frame];
            if (word < 0) {
                at -= 2;
            }
            int found = rows[node + METHOD];
            if (mark >= 0 && marks[mark] == frame) {
                mark -= 3;
            } else if (found == method || found == OVERFLOW && stamps[at] == method) {
                unwind(itself ? frame : frame + 1, Clock.now());
                return;
            }
            node = callerIn(word);
        }
    }

    /** The thread ends in the midst of its calls, by {@code System.exit}. */
    final void finish() {
        if (beyond != 0) {
            beyond = 0;
            current = covered;
        }
        if (depth != 0) {
            unwind(0, Clock.now());
        }
    }

    private void unwind(int frames, long now) {
        while (depth > frames) {
            end(now);
        }
    }

    // Room, made before anything is written.

    private boolean deepen() {
        Thread thread = owner;
        owner = null;
        try {
            if (Stack.isWorthALook(depth) && Stack.isShallowerThan(depth)) {
                keepOneOfEach();
            }
            return depth < back.length || lengthen();
        } finally {
            owner = thread;
        }
    }

    private boolean lengthen() {
        if (!Budget.hasRoom(16L * back.length)) {
            return false;
        }
        try {
            back = Arrays.longer(back);
            return true;
        } catch (OutOfMemoryError error) {
            return false;
        }
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
        if (!Budget.hasRoom(16L * stamps.length)) {
            return false;
        }
        try {
            stamps = Arrays.longer(stamps);
            return true;
        } catch (OutOfMemoryError error) {
            return false;
        }
    }

    /**
     * The path is deeper than the stack, so it holds frames of calls that have ended. Which ones cannot be told from
     * inside; but what comes back without end is one constructor that an uninstrumented caller tries again and again,
     * and its node. So one frame of each node stays. No time is booked: when the others ended is unknown.
     */
    private void keepOneOfEach() {
        int[] rows = this.rows;
        long[] stamps = this.stamps;
        int kept = 0;
        int keptStamps = 0;
        int stamp = 0;
        for (int frame = 0; frame < depth; frame++) {
            long word = back[frame];
            int node = nodeOf(frame);
            boolean odd = word < 0;
            boolean first = rows[node + ACTIVE] >= 0;
            // Negative marks the nodes that are kept already; the first frame of a node is the outermost.
            if (first) {
                rows[node + ACTIVE] = -1;
                back[kept] = (long) (odd ? ~node : node) << 32 | word & 0xFFFFFFFFL;
                kept++;
                if (odd) {
                    stamps[keptStamps] = stamps[stamp];
                    stamps[keptStamps + 1] = stamps[stamp + 1];
                    keptStamps += 2;
                }
            }
            stamp += odd ? 2 : 0;
        }
        // Now back holds the nodes of the frames themselves: turned into those to return to, from the top.
        finishKept(kept, keptStamps / 2);
    }

    private int nodeOf(int frame) {
        int above = frame + 1;
        if (above == depth) {
            return beyond == 0 ? current : covered;
        }
        return callerIn(back[above]);
    }

    private void finishKept(int kept, int keptStamps) {
        int below = ROOT;
        for (int frame = 0; frame < kept; frame++) {
            long word = back[frame];
            int node = callerIn(word);
            rows[node + ACTIVE] = 1;
            back[frame] = (long) (word < 0 ? ~below : below) << 32 | word & 0xFFFFFFFFL;
            below = node;
        }
        depth = kept;
        stamped = keptStamps;
        marked = 0;
        current = below;
    }

    /** Forgets the frames, of which the times are unknown, and all nodes. */
    @Override
    void clear() {
        super.clear();
        depth = 0;
        current = ROOT;
        stamped = 0;
        marked = 0;
        beyond = 0;
    }

    @Override
    long bytes() {
        int[] marks = this.marks;
        return super.bytes() + 144 + 8L * back.length + 8L * stamps.length + (marks == null ? 0 : 4L * marks.length);
    }
}
