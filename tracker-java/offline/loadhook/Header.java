package loadhook;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The header of a profile, which describes how and when the profile was measured. */
final class Header {
    private static final String[] TIMINGS = {"adaptive", "exact", "count"};
    private static final String[] CLOCKS = {"wall", "cpu"};

    int timing;
    final long insidePicos;
    final long outsidePicos;
    final long clockPicos;
    private final List<String> notes = new ArrayList<String>();
    String process = "";

    private final String clock;
    private final long startMillis;
    private final long nanos;
    private final long bytes;
    private final long overflowed;
    private final String command = property("sun.java.command");
    private final String jvm = property("java.vm.name") + " " + property("java.vm.version");
    private final Map<String, Long> leftAlone = new TreeMap<String, Long>();

    /** Reads a HEADER record, whose first word is the first of the array. */
    Header(long[] words) {
        timing = (int) words[2];
        clock = CLOCKS[(int) words[3]];
        startMillis = words[4];
        nanos = words[5];
        bytes = words[6];
        overflowed = words[7];
        insidePicos = words[8];
        outsidePicos = words[9];
        clockPicos = words[10];
    }

    private static String property(String name) {
        try {
            return System.getProperty(name, "");
        } catch (SecurityException error) {
            return "";
        }
    }

    /** Returns whether times are processor times. */
    boolean isCpu() {
        return clock.equals(CLOCKS[Clock.CPU]);
    }

    void leftAlone(String reason, long methods) {
        Long before = leftAlone.get(reason);
        leftAlone.put(reason, before == null ? methods : before + methods);
    }

    /**
     * Adds a note, unless the header has it already. The copies of an archive in many loaders may
     * all have the same note.
     */
    void note(String note) {
        if (!notes.contains(note)) {
            notes.add(note);
        }
    }

    boolean isTimed() {
        return timing != Timing.COUNT;
    }

    void write(ProtobufWriter out, StringTable strings) throws IOException {
        ProtobufWriter message = new ProtobufWriter();
        type(out, Pprof.SAMPLE_TYPE, "calls", "count", strings);
        if (isTimed()) {
            type(out, Pprof.SAMPLE_TYPE, "self", "nanoseconds", strings);
            type(out, Pprof.PERIOD_TYPE, clock, "nanoseconds", strings);
            out.number(Pprof.PERIOD, 1);
        }
        out.number(Pprof.DEFAULT_SAMPLE_TYPE, strings.index(isTimed() ? "self" : "calls"));
        out.number(Pprof.TIME_NANOS, startMillis * 1000000);
        out.number(Pprof.DURATION_NANOS, nanos);
        out.text(Pprof.OUR_HEADER, json().getBytes(StandardCharsets.UTF_8));
        for (String comment : comments()) {
            message.varint(strings.index(comment));
        }
        out.message(Pprof.COMMENT, message);
        // Other tools take the first mapping for the program, and show the part
        // of its text after the last slash. So arguments are left out.
        message.number(1, Pprof.ONLY_MAPPING);
        message.number(5, strings.index(command.trim().split("\\s+")[0]));
        for (int has = 7; has <= 9; has++) {
            // Declares that functions, file names and line numbers are present.
            // Otherwise other tools would search for them.
            message.number(has, 1);
        }
        out.message(Pprof.MAPPING, message);
    }

    private static void type(ProtobufWriter out, int field, String name, String unit, StringTable strings) throws IOException {
        ProtobufWriter message = new ProtobufWriter();
        message.number(1, strings.index(name));
        message.number(2, strings.index(unit));
        out.message(field, message);
    }

    /** Returns comments for users of other tools. */
    private List<String> comments() {
        List<String> comments = new ArrayList<String>();
        String how = timing == Timing.COUNT ? "calls counted, not timed"
                : timing == Timing.EXACT ? clock + " clock, every call timed"
                : clock + " clock; counts are exact, times of short calls estimated from a sample";
        comments.add("Loadhook " + Version.TEXT + ": " + how);
        if (overflowed > 0) {
            comments.add(overflowed + " calls are counted as (tree full), since the call tree had no room for them");
        }
        comments.addAll(notes);
        return comments;
    }

    /** Returns the header as JSON, with the names of {@code Header} in the crate {@code loadhook-profile}. */
    private String json() {
        Json json = new Json();
        json.begin();
        json.text("timing", TIMINGS[timing]);
        json.text("clock", clock);
        json.number("start_epoch_millis", startMillis);
        json.number("duration_ns", nanos);
        json.number("tracker_bytes", bytes);
        json.number("overflowed_calls", overflowed);
        json.begin("probe");
        json.number("inside_ps", insidePicos);
        json.number("outside_ps", outsidePicos);
        json.number("clock_read_ps", clockPicos);
        json.end();
        json.text("command", command);
        json.text("jvm", jvm);
        json.text("version", Version.TEXT);
        json.text("process", process);
        json.begin("left_alone");
        for (Map.Entry<String, Long> reason : leftAlone.entrySet()) {
            json.number(reason.getKey(), reason.getValue());
        }
        json.end();
        json.texts("unmatched", new ArrayList<String>());
        json.texts("notes", notes);
        json.end();
        return json.toString();
    }
}
