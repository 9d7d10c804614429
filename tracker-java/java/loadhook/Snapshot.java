package loadhook;

/** Writes the counts and times of all threads into buffers of words, as the records that docs/dev/tracker.md lists. */
final class Snapshot {
    private static final int HEADER = 1;
    static final int THREAD = 2;
    static final int NODE = 3;
    private static final int END = 4;
    static final int CPU = 5;
    static final int CALLS = 6;
    static final int LATENCIES = 7;
    private static final int VERSION = 2;
    private static final int HEADER_WORDS = 11;
    private static final int NODE_WORDS = 11;
    private static final int CALLS_WORDS = 3;

    private final Section[] sections;
    private final MethodCalls calls;
    private final long bytes;
    private final long overflowed;
    /** Number of allocations that found no room for a leaf. */
    final long lost;
    private final byte[] name = Section.nameBuffer();

    private boolean headed;
    private boolean ended;
    /** The next method whose number of calls is to be written. */
    private int method;
    /** The durations of timed calls; null if no call was timed. */
    private final Latencies latencies;
    /** The next row of {@link #latencies} to write. */
    private int row;
    private int section;
    /** The tree of the section that is being written; null before the THREAD record. */
    private TreeReader reader;
    private int node;

    /**
     * Takes the paths from {@link Threads#beginSnapshot}. From then on, ended threads wait for {@link #end}.
     *
     * @param calls the calls that were counted by method alone
     */
    Snapshot(Path[] paths, MethodCalls calls) {
        this.calls = calls;
        latencies = calls.latencies;
        row = latencies == null ? 0 : latencies.last();
        int platform = 0;
        for (int at = 0; at < paths.length; at++) {
            platform += paths[at].virtual ? 0 : 1;
        }
        boolean anyVirtual = platform < paths.length;
        MergedTree virtual = new MergedTree();
        sections = new Section[platform + (anyVirtual ? 1 : 0) + EndedThreads.count];
        int count = 0;
        long bytes = Threads.bytes() + Counters.bytes();
        for (int at = 0; at < paths.length; at++) {
            Path path = paths[at];
            bytes += path.bytes();
            if (path.virtual) {
                TreeReader reader = TreeReader.of(path);
                new TreeMerge(virtual, reader, EndedThreads.mapFor(reader)).run();
            } else {
                long id = Ids.areKnown() ? path.id : -1;
                sections[count++] = new Section(Section.LIVE, id, path.name(), path, cpu(path));
            }
        }
        if (anyVirtual) {
            sections[count++] = new Section(Section.VIRTUAL, -1, "(virtual threads)", virtual, CpuTime.UNKNOWN);
        }
        for (int at = 0; at < EndedThreads.count; at++) {
            MergedTree tree = EndedThreads.TREES[at];
            bytes += tree.bytes();
            sections[count++] = new Section(Section.ENDED, -1, EndedThreads.NAMES[at], tree, tree.cpu);
        }
        long overflowed = Threads.untracked();
        long lost = Threads.lost();
        for (int at = 0; at < count; at++) {
            Tree tree = sections[at].tree;
            overflowed += tree.overflow == 0 ? 0 : tree.calls(tree.overflow);
            lost += tree.lost;
        }
        this.bytes = bytes;
        this.overflowed = overflowed;
        this.lost = lost;
    }

    void end() {
        Threads.endSnapshot();
    }

    /** Fills a buffer with whole records and returns the number of words, 0 when all is written. */
    int fill(long[] buffer) {
        int at = 0;
        if (!headed) {
            at = header(buffer);
            headed = true;
        }
        for (; method < calls.ids(); method++) {
            long count = calls.of(method);
            if (count != 0) {
                if (at + CALLS_WORDS > buffer.length) {
                    return at;
                }
                buffer[at] = CALLS;
                buffer[at + 1] = method;
                buffer[at + 2] = count;
                at += CALLS_WORDS;
            }
        }
        for (; row != 0; row = latencies.before(row)) {
            if (at + Latencies.RECORD_WORDS > buffer.length) {
                return at;
            }
            at += latencies.write(row, buffer, at);
        }
        while (section < sections.length) {
            if (reader == null) {
                int words = 6 + (name.length + 7) / 8;
                if (at + words > buffer.length) {
                    return at;
                }
                at = thread(buffer, at);
                reader = sections[section].read();
                node = Tree.STRIDE;
            }
            while (node < reader.end) {
                if (at + NODE_WORDS > buffer.length) {
                    return at;
                }
                at = node(buffer, at);
                node += Tree.STRIDE;
            }
            reader = null;
            section++;
        }
        if (!ended && at < buffer.length) {
            buffer[at++] = END;
            ended = true;
        }
        return at;
    }

    /** Returns the processor time of a path's thread, which may have ended. */
    private static long cpu(Path path) {
        return path.cpuSpent >= 0 ? path.cpuSpent : CpuTime.between(path.cpuBegan, CpuTime.of(path.thread()));
    }

    private int header(long[] buffer) {
        buffer[0] = HEADER;
        buffer[1] = VERSION;
        buffer[2] = Timing.mode;
        buffer[3] = Clock.kind;
        buffer[4] = Tracker.startMillis;
        buffer[5] = System.nanoTime() - Tracker.startNanos;
        buffer[6] = bytes;
        buffer[7] = overflowed;
        buffer[8] = Calibration.insidePicos;
        buffer[9] = Calibration.outsidePicos;
        buffer[10] = Calibration.clockPicos;
        return HEADER_WORDS;
    }

    private int thread(long[] buffer, int at) {
        Section section = sections[this.section];
        int length = section.utf8(name);
        buffer[at++] = THREAD;
        buffer[at++] = section.id;
        buffer[at++] = section.kind;
        buffer[at++] = length;
        for (int word = 0; word < length; word += 8) {
            long packed = 0;
            for (int of = word; of < word + 8; of++) {
                packed = packed << 8 | (of < length ? name[of] & 0xFF : 0);
            }
            buffer[at++] = packed;
        }
        if (section.cpu >= 0) {
            buffer[at++] = CPU;
            buffer[at++] = section.cpu;
        }
        return at;
    }

    private int node(long[] buffer, int at) {
        TreeReader reader = this.reader;
        int node = this.node;
        buffer[at] = NODE;
        buffer[at + 1] = reader.parent(node) / Tree.STRIDE - 1;
        buffer[at + 2] = reader.method(node);
        reader.write(node, buffer, at + 3);
        buffer[at + 8] = reader.varianceBits(node);
        buffer[at + 9] = reader.ticks(node, 0);
        buffer[at + 10] = reader.tickVarianceBits(node);
        return at + NODE_WORDS;
    }
}
