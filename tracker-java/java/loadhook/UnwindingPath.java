package loadhook;

/**
 * Ends calls: adds their time to the tree, gives ticks to the nodes that they hit, and repairs the
 * path.
 *
 * A repair is necessary because an exit probe can be missing. A constructor whose {@code super(…)}
 * throws runs no exit probe, and a StackOverflowError may keep any probe from running. The calls
 * above the method that the next probe names have then ended.
 */
class UnwindingPath extends PathState {
    /**
     * About a second, in {@link Ticker}'s units. A longer distance between two ticks means that the machine was
     * stopped.
     */
    private static final int LONG_STOP = 1 << 17;

    /**
     * The least mean of {@link #turn} that interruptions have, in nanoseconds. Where other threads needed the
     * processor, turns of 170 µs and more were measured. A thread that loses its processor after shorter turns yields
     * it.
     */
    private static final long LEAST_TURN = 1 << 16;
    /** The first value of {@link #turn}: about a millisecond. */
    private static final long FIRST_TURN = 1 << 20;

    /** The nanoseconds that ticks have given to nodes, see {@link TimedTree#given}. */
    private long given;
    /** The nanoseconds whose ticks do not count, see {@link TimedTree#refused}. */
    private long refused;
    /** The CPU clock at the last call of {@link #attribute}. */
    private long readNanos;
    /** {@link Clock#switches} at the last call of {@link #attribute}. */
    private long switches;
    /** True if the thread waited between the last two calls of {@link #attribute}. */
    private boolean waited;
    /**
     * The moving mean of the processor time between two interruptions, over about 16 spans of ticks in which the thread was
     * mostly interrupted.
     */
    private long turn = FIRST_TURN;

    UnwindingPath(int mode, int nodes, int frames, long seed) {
        super(mode, nodes, frames, seed);
    }

    /**
     * Returns whether the clock must be read when a frame ends: always under the wall clock. The CPU clock is slow, so it
     * is read only if the frame is timed or, with ADAPTIVE, a tick came that the path has not seen.
     */
    final boolean isClockNeeded(long frame) {
        return Clock.kind == Clock.WALL || isTimed(frame) || mode == Timing.ADAPTIVE && seen != Ticker.last();
    }

    /** Ends the uppermost frame. {@code now} is 0 if {@link #isClockNeeded} returned false. */
    final void end(long now) {
        int depth = this.depth;
        long frame = back[depth];
        int last = Ticker.last();
        if (last != seen && now != 0 && mode == Timing.ADAPTIVE) {
            attribute(last, now);
        }
        int node = node(frame);
        int from = node(back[depth - 1]);
        if (isTimed(frame)) {
            int weight = weight(depth, node);
            if (weight == 1 && Latencies.areCounted) {
                bookMeasured(node, from, now - stamps[depth]);
            } else if (weight == 1) {
                book(node, from, now - stamps[depth]);
            } else if (weight != 0) {
                book(node, from, now - stamps[depth], weight, began(frame), now);
            }
        } else {
            bookTicks(node, from, began(frame), now);
        }
        int marked = this.marked;
        if (marked != 0 && marks[3 * marked - 3] == depth) {
            marked--;
        }
        // Neither this code nor the code of book that writes calls a method. So a StackOverflowError cannot come
        // between them: a frame is both booked and ended, or neither.
        rows[node + WORK] -= CALL;
        this.marked = marked;
        this.depth = depth - 1;
    }

    /** Books a timed call of weight 1, and counts it in the bucket of its duration. */
    private void bookMeasured(int node, int from, long nanos) {
        Latencies latencies = this.latencies == null ? meetLatencies() : this.latencies;
        int place = latencies == null ? -1 : latencies.place(rows[node + METHOD], Buckets.of(nanos));
        int[] calls = latencies == null ? null : latencies.words;
        book(node, from, nanos);
        // No method may be called below: a StackOverflowError would leave the update half done.
        if (place >= 0) {
            calls[place]++;
        }
    }

    /**
     * Finds the object in which the current thread counts calls by duration. Returns null if there is no room for
     * one.
     */
    private Latencies meetLatencies() {
        Thread current = Thread.currentThread();
        if (Lock.holder == current) {
            // At a thread's end, the lock is taken before the thread's calls are ended. The lock cannot be taken
            // twice.
            return null;
        }
        long thread = owner;
        Interpreted.leave(this);
        owner = NOBODY;
        try {
            MethodCalls counts = Counters.ofCarrier(current, Carrier.current());
            Latencies met = counts == null ? null : counts.latencies();
            if (!virtual) {
                latencies = met;
            }
            return met;
        } finally {
            owner = thread;
        }
    }

    /**
     * Gives the time since the last processed tick to the nodes that were on
     * top of the path at each tick.
     *
     * Each frame contains the last tick before its beginning. At a tick, the top frame is the uppermost frame that
     * began before the tick. That frame is still on the path, because the end of every frame first calls this method.
     * By the wall clock a tick stands for the time since the tick before it. By the CPU clock, all ticks since the
     * last call of this method share the processor time that the thread used between them.
     *
     * Under the CPU clock, ticks would charge a thread that works in short
     * turns wrongly: most ticks find it waiting, so the waits would get the
     * time of its work. So ticks count only if the thread has run for at least
     * half of their span, or was only interrupted: others took the processor
     * from it, which happens anywhere in its code. The time for which no tick
     * counts is added up: {@link #isMostlyRefused} compares it with the time
     * that ticks have given.
     */
    final void attribute(int last, long now) {
        boolean wall = Clock.kind == Clock.WALL;
        int from = seen == 0 && wall ? began(back[1]) : seen;
        long span = Ticker.units(from, last);
        long at = wall ? now : atTick(last, now);
        long nanos = wall ? Ticker.nanos(span) : at - seenNanos;
        double distance = Ticker.units(Ticker.before(), last);
        long switches = wall ? 0 : Clock.switches();
        boolean waits = switches < 0 || switches >> 32 != this.switches >> 32;
        boolean hasRun = wall || nanos >= Ticker.nanos(span) / 2;
        // A tick soon after a wait stands for the time since the wait only, so it would favour the ends of turns.
        if (!hasRun && (waits || waited || !isInterrupted(now, switches))) {
            // At the first call there is no earlier reading of the clock. So `nanos` is not the time between the ticks,
            // and is not added.
            if (from != 0 && nanos > 0) {
                refused += nanos;
            }
        } else if (from != 0 && span != 0 && nanos > 0 && distance < LONG_STOP && roomForTicks()) {
            // If the whole machine was stopped before a tick, the tick is left out: the node on top did not use
            // that time.
            long[] back = this.back;
            long[] ticks = this.ticks;
            int upTo = last;
            double most = distance * Ticker.nanos(1);
            // No method may be called below: a StackOverflowError would leave the update half done.
            given += nanos;
            for (int frame = depth; frame > 0 && upTo - from > 0; frame--) {
                int began = (int) (back[frame] >> 32);
                if (began == 0) {
                    break;
                }
                if (began - from < 0) {
                    began = from;
                }
                if (upTo - began > 0) {
                    double units = upTo - began;
                    double time = nanos * (units / span);
                    int node = ((int) back[frame] & ~1) / 2;
                    ticks[node] += (long) time;
                    // Each tick either hits the node or not, so its variance is the square of the
                    // time that it stands for.
                    long squares = ticks[node + 1] + (long) (time * (time < most ? time : most) / TICK_SQUARE);
                    ticks[node + 1] = squares < 0 ? Long.MAX_VALUE : squares;
                    upTo = began;
                }
            }
        }
        seen = last;
        seenNanos = at;
        readNanos = now;
        this.switches = switches;
        waited = waits;
    }

    /**
     * Returns the reading of the CPU clock at a tick, if the thread has run since then; otherwise less, but not
     * less than at the tick before. The time after a tick is the next tick's. With it, a tick would favour long
     * calls, whose ends are far.
     */
    private long atTick(int tick, long now) {
        long at = now - Ticker.since(tick);
        return at < seenNanos ? seenNanos : at;
    }

    /**
     * Returns whether a thread that did not wait was interrupted by other threads, and did not yield its processor.
     * The kernel counts both alike, but only yields are frequent. At the first tick there is no earlier number of
     * switches.
     */
    private boolean isInterrupted(long now, long switches) {
        int times = (int) switches - (int) this.switches;
        if (times <= 0 || seen == 0) {
            return true;
        }
        // The last turn does not decide about itself, because a turn that a tick met late is measured short.
        boolean isInterrupted = turn >= LEAST_TURN;
        turn += ((now - readNanos) / times - turn) / 16;
        return isInterrupted;
    }

    @Override
    final long given() {
        return given;
    }

    @Override
    final long refused() {
        return refused;
    }

    @Override
    void clear() {
        super.clear();
        given = 0;
        refused = 0;
        readNanos = 0;
        switches = 0;
        waited = false;
        turn = FIRST_TURN;
    }

    /**
     * Ends all frames above the uppermost unmarked frame of a method. With {@code itself}, also ends that frame.
     * Does nothing if the method has no unmarked frame.
     */
    final void heal(int method, boolean itself) {
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
        int mark = 3 * marked - 3;
        for (int frame = depth; frame > 0; frame--) {
            int found = method(frame);
            if (mark >= 0 && marks[mark] == frame) {
                mark -= 3;
            } else if (found == method || found == OVERFLOW && stamps[frame] == method) {
                unwind(itself ? frame - 1 : frame, Clock.now());
                return;
            }
        }
    }

    /** Ends all calls under way of a thread that ends by {@code System.exit}. */
    final void finish() {
        if (beyond != 0) {
            beyond = 0;
            depth--;
        }
        if (depth != 0) {
            unwind(0, Clock.now());
        }
    }

    final void unwind(int frame, long now) {
        while (depth > frame) {
            end(now);
        }
    }

    final boolean deepen() {
        long thread = owner;
        Interpreted.leave(this);
        owner = NOBODY;
        boolean looks = false;
        try {
            looks = Stack.isWorthALook(depth);
            if (looks) {
                // The JVM makes stack traces by methods of the JDK that may have counting probes.
                Counters.leave();
                if (Stack.isShallowerThan(depth)) {
                    keepOneOfEach();
                }
            }
            return depth + 2 < back.length || lengthen();
        } finally {
            if (looks) {
                Counters.comeBack();
            }
            owner = thread;
        }
    }

    /**
     * Keeps the outermost frame of each node and drops the others. Called when
     * the path is deeper than the stack, so that it has frames of calls that have ended. Nothing shows which
     * frames these are. But they accumulate only if an uninstrumented caller tries the same constructor again and
     * again, so they have the same node. Dropped frames add no time, because the moment of their end is unknown.
     */
    final void keepOneOfEach() {
        int[] rows = this.rows;
        int kept = 0;
        int keptMarks = 0;
        int mark = 0;
        for (int frame = 1; frame <= depth; frame++) {
            long word = back[frame];
            int node = node(word);
            boolean isMarked = mark < 3 * marked && marks[mark] == frame;
            // A negative word marks a node of which a frame is already kept.
            if (rows[node + WORK] >= 0) {
                rows[node + WORK] |= Integer.MIN_VALUE;
                back[++kept] = word;
                stamps[kept] = stamps[frame];
                if (mode == Timing.ADAPTIVE) {
                    weights[kept] = weights[frame];
                }
                if (isMarked) {
                    marks[keptMarks] = kept;
                    marks[keptMarks + 1] = marks[mark + 1];
                    marks[keptMarks + 2] = marks[mark + 2];
                    keptMarks += 3;
                }
            }
            mark += isMarked ? 3 : 0;
        }
        for (int frame = 1; frame <= kept; frame++) {
            int node = node(back[frame]);
            rows[node + WORK] = rows[node + WORK] & CALL - 1 | CALL;
        }
        depth = kept;
        marked = keptMarks / 3;
    }
}
