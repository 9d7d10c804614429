package loadhook;

import java.io.IOException;
import java.io.OutputStream;
import java.util.zip.Deflater;
import java.util.zip.GZIPOutputStream;

/**
 * Writes a snapshot as gzipped pprof. The crate {@code loadhook-profile} writes the same fields,
 * and explains them. Only one thread's nodes are in memory at a time. The names come after the
 * threads, because only then is it known which names are needed.
 */
final class Pprof {
    // Fields of Profile in profile.proto, and Loadhook's own fields.
    static final int SAMPLE_TYPE = 1;
    static final int SAMPLE = 2;
    static final int MAPPING = 3;
    static final int LOCATION = 4;
    static final int FUNCTION = 5;
    static final int STRING_TABLE = 6;
    static final int TIME_NANOS = 9;
    static final int DURATION_NANOS = 10;
    static final int PERIOD_TYPE = 11;
    static final int PERIOD = 12;
    static final int COMMENT = 13;
    static final int DEFAULT_SAMPLE_TYPE = 14;
    static final int OUR_HEADER = 1000;
    static final int OUR_METHODS = 1001;
    private static final int OUR_THREAD = 1002;
    static final int OUR_METHOD_CALLS = 1006;

    static final int ONLY_MAPPING = 1;

    /** The approximate heap for a method's names and for the tables that refer to them, in bytes. */
    private static final int METHOD_BYTES = 600;

    // Lengths of the tracker's records.
    private static final int HEADER_WORDS = 11;
    private static final int NODE_WORDS = 11;
    private static final int CPU_WORDS = 2;
    private static final int CALLS_WORDS = 3;

    private final ProtobufWriter out;
    private final StringTable strings = new StringTable();
    final Methods methods = new Methods(strings);
    private final ThreadNodes nodes = new ThreadNodes();
    private final CountedMethods counted = new CountedMethods();
    /** True if any call has a place in a tree. */
    private boolean hasNodes;
    /** The header; null before the first record. */
    Header header;

    private final ProtobufWriter sample = new ProtobufWriter();
    private final ProtobufWriter inner = new ProtobufWriter();

    Pprof(ProtobufWriter out) {
        this.out = out;
    }

    /**
     * Compresses fast: stacks repeat so often that a higher level gains little and takes more time.
     */
    static final class Gzip extends GZIPOutputStream {
        Gzip(OutputStream out) throws IOException {
            super(out, 1 << 14);
            def.setLevel(Deflater.BEST_SPEED);
        }
    }

    /**
     * Writes a profile of the counts so far. {@code note} is a note for the user, or null. {@code process} is the
     * name of the process.
     */
    static void write(OutputStream file, String note, String process) throws IOException {
        Gzip gzip = new Gzip(file);
        ProtobufWriter out = new ProtobufWriter(gzip);
        Pprof pprof = new Pprof(out);
        pprof.threads();
        pprof.endThreads();
        pprof.header.process = process;
        if (note != null) {
            pprof.header.note(note);
        }
        HeapCheck.require((long) METHOD_BYTES * pprof.methods.rows());
        for (Symbols symbols : Archives.all()) {
            symbols.read(pprof.methods, pprof.header);
        }
        if (Archives.note() != null) {
            pprof.header.note(Archives.note());
        }
        pprof.finish();
        gzip.finish();
    }

    /** Called after the last thread's record. From then on, all called methods are known. */
    void endThreads() throws IOException {
        endThread();
        counted.index(methods);
        if (!hasNodes && counted.rows() > 0) {
            // All probes so far only count, so the profile has no times.
            header.timing = Timing.COUNT;
        }
    }

    /** Writes the parts of the profile that come after the threads. */
    void finish() throws IOException {
        counted.write(out, header.isTimed());
        methods.write(out);
        header.write(out, strings);
        strings.write(out);
        out.flush();
    }

    private void threads() throws IOException {
        long[] words = new long[4096];
        if (!Tracker.beginSnapshot()) {
            throw new IOException(
                    "a thread holds the tracker's lock; if a debugger has suspended the thread, resume it");
        }
        try {
            for (int end = Tracker.snapshot(words); end != 0; end = Tracker.snapshot(words)) {
                records(words, end);
            }
        } finally {
            // Threads that end wait until the snapshot is read completely.
            while (Tracker.snapshot(words) != 0) {
            }
        }
    }

    /** Reads whole records from the first {@code end} words of a buffer. The very first record is the header. */
    void records(long[] words, int end) throws IOException {
        int at = 0;
        if (header == null) {
            header = new Header(words);
            at = HEADER_WORDS;
        }
        while (at < end) {
            if (words[at] == Snapshot.THREAD) {
                endThread();
                at = nodes.begin(words, at);
            } else if (words[at] == Snapshot.NODE) {
                nodes.add(words, at, methods);
                hasNodes = true;
                at += NODE_WORDS;
            } else if (words[at] == Snapshot.CPU) {
                // Only an agent writes the record of CPU times.
                at += CPU_WORDS;
            } else if (words[at] == Snapshot.CALLS) {
                counted.add(words, at);
                at += CALLS_WORDS;
            } else {
                at++;
            }
        }
    }

    /** Writes the thread whose records are complete, if any. */
    void endThread() throws IOException {
        if (nodes.name != null) {
            samples(new Figures(nodes, header));
            inner.number(1, strings.index(nodes.name));
            inner.number(2, nodes.id + 1);
            inner.number(3, nodes.kind);
            nodes.write(out, OUR_THREAD, inner, 4, 13);
            nodes.name = null;
        }
    }

    /** Writes one sample for each node. */
    private void samples(Figures figures) throws IOException {
        double[] below = figures.below();
        int thread = strings.index("thread");
        int name = strings.index(nodes.name);
        int threadId = strings.index("thread_id");
        int total = strings.index("total");
        int unit = strings.index("nanoseconds");
        for (int at = 0; at < nodes.count; at++) {
            // In pprof, the leaf comes first.
            for (int node = at; node >= 0; node = nodes.parents[node]) {
                inner.varint(nodes.methods[node] + 1);
            }
            sample.message(1, inner);
            inner.varint(nodes.calls[at]);
            if (header.isTimed()) {
                inner.varint(Math.round(figures.self[at]));
            }
            sample.message(2, inner);
            inner.number(1, thread);
            inner.number(2, name);
            sample.message(3, inner);
            if (nodes.id >= 0) {
                inner.number(1, threadId);
                inner.number(3, nodes.id);
                sample.message(3, inner);
            }
            // Writes the total only if it differs from the sum of the self times
            // at and below the node. Only recursion causes a difference.
            if (figures.total[at] > below[at] + 1) {
                inner.number(1, total);
                inner.number(3, Math.round(figures.total[at]));
                inner.number(4, unit);
                sample.message(3, inner);
            }
            out.message(SAMPLE, sample);
        }
    }
}
