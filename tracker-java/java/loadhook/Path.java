package loadhook;

/**
 * A thread's tree, and the thread's position in it: the running methods, outermost first. This
 * class has the probes.
 *
 * {@link PathState} contains the data. {@link UnwindingPath} ends calls, and repairs the path if an
 * exit probe is missing.
 *
 * A constructor is marked while it calls another constructor for the same object. The marked constructor cannot
 * catch an exception of that call, so if an exception ends the called constructor, the marked one ends too. While
 * a frame is marked, its own code runs no probe.
 */
class Path extends UnwindingPath {
    /**
     * The number of siblings that are searched after the expected callee. Half of the calls of
     * other callees are found within this number.
     */
    static final int FAR = 5;

    Path(int mode, int nodes, int frames, long seed) {
        super(mode, nodes, frames, seed);
    }

    private static long frame(int node) {
        return (long) Ticker.last() << 32 | node;
    }

    final void enter(int method) {
        long[] back = this.back;
        int[] rows = this.rows;
        int depth = this.depth;
        int from = node(back[depth]);
        int node = rows[from + LAST];
        if (rows[node + METHOD] != method) {
            // The next callee is probably the one that followed last time, since a method's code
            // and the rounds of a loop repeat.
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
        long frame = frame(node | 1);
        // No method may be called below: a StackOverflowError would leave the update half done.
        rows[node + WORK] = work + CALL - 1;
        back[depth + 1] = frame;
        this.depth = depth + 1;
    }

    final void exit(int method) {
        int depth = this.depth;
        long frame = back[depth];
        int node = node(frame);
        int[] rows = this.rows;
        if (rows[node + METHOD] != method) {
            heal(method, true);
        } else if (isTimed(frame) || began(frame) != Ticker.last()) {
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

    /** Marks a constructor that calls another one for the same object. */
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
        // No method may be called below: a StackOverflowError would leave the update half done.
        marks[at] = depth;
        marks[at + 1] = key;
        marks[at + 2] = other;
        marked++;
    }

    /** Removes the mark, because the called constructor has returned. */
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
                // The marked frame is the uppermost one now.
                marked = mark;
                return;
            }
        }
    }

    /**
     * Ends a constructor. If there is a key, an exception ends the constructor, and with it the constructors that
     * called it for the same object.
     */
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

    /** Enters a call if both foreseen callees are wrong, or if there is no room for the frame. */
    final void enterSlowly(int method) {
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
            long frame = frame(node | 1);
            // No method may be called below: a StackOverflowError would leave the update half done.
            rows[node + WORK] += CALL - 1;
            back[depth + 1] = frame;
            depth++;
        }
    }

    /**
     * Returns the callee if it is among the next siblings, otherwise the root. The callee is there if the code
     * skipped some siblings this time.
     */
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
        if (mode == Timing.EXACT) {
            enterExactly(node);
            return;
        }
        if (mode == Timing.COUNT) {
            enterUntimed(node);
            return;
        }
        int weight = weight(node);
        long block = nextBlock(node);
        long frame = frame(node);
        int depth = this.depth + 1;
        long start = Clock.now();
        grantBlock(node, block);
        // No method may be called below: a StackOverflowError would leave the update half done.
        stamps[depth] = start;
        weights[depth] = (byte) weight;
        back[depth] = frame;
        this.depth = depth;
    }

    /** Enters a call on a path that times every call, without a draw and without ticks. */
    private void enterExactly(int node) {
        int depth = this.depth + 1;
        long start = Clock.now();
        grant(node, 0);
        // No method may be called below: a StackOverflowError would leave the update half done.
        stamps[depth] = start;
        back[depth] = node;
        this.depth = depth;
    }

    /** Enters a call on a path that only counts, and grants further calls. This happens every 256 calls. */
    private void enterUntimed(int node) {
        long frame = frame(node | 1);
        grant(node, LEFT);
        // No method may be called below: a StackOverflowError would leave the update half done.
        back[depth + 1] = frame;
        depth++;
    }

    private void enterOverflow(int node, int method) {
        long frame = frame(node);
        // No method may be called below: a StackOverflowError would leave the update half done.
        times[2 * node + GRANTED] += CALL;
        stamps[depth + 1] = method;
        rows[node + WORK] += CALL;
        back[depth + 1] = frame;
        depth++;
    }

    /** Counts a call for which there is no frame. */
    private void enterBeyond() {
        int node = overflow();
        long frame = frame(node);
        // No method may be called below: a StackOverflowError would leave the update half done.
        times[2 * node + GRANTED] += CALL;
        if (beyond++ == 0) {
            back[depth + 1] = frame;
            depth++;
        }
    }
}
