package loadhook;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;

/**
 * Reads snapshots with the names of their methods. Prints for each the bits of its self and total times, and its pprof
 * file in hexadecimal digits. {@code tests/vectors.rs} describes the input. The class is in the tracker's package,
 * because it uses internal classes.
 */
public final class Vectors {
    private Pprof pprof;
    private ByteArrayOutputStream file;
    /** The nodes of the thread that is being read, from which its times are computed. */
    private ThreadNodes nodes;
    private final StringBuilder out = new StringBuilder();

    private Vectors() {
    }

    /**
     * Reads snapshots from standard input. Arguments: command, name and version of the JVM, which a profile takes from
     * system properties.
     */
    public static void main(String[] args) throws Exception {
        System.setProperty("sun.java.command", args[0]);
        System.setProperty("java.vm.name", args[1]);
        System.setProperty("java.vm.version", args[2]);
        Vectors vectors = new Vectors();
        vectors.run(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)));
        System.out.print(vectors.out);
    }

    private void run(BufferedReader in) throws IOException {
        String line = in.readLine();
        while (line != null) {
            if (line.equals("SNAPSHOT")) {
                end();
                file = new ByteArrayOutputStream();
                pprof = new Pprof(new ProtobufWriter(file));
                line = in.readLine();
            } else if (line.startsWith("RECORD ")) {
                record(line.substring(7).split(" "));
                line = in.readLine();
            } else {
                // All records of the snapshot have been read.
                times();
                pprof.endThreads();
                StringBuilder symbols = new StringBuilder("loadhook symbols 1\n");
                String[] archive = line.split(" ", 5);
                for (line = in.readLine(); line != null && line.indexOf('\t') == 1; line = in.readLine()) {
                    symbols.append(line).append('\n');
                }
                name(archive, symbols.toString());
            }
        }
        end();
    }

    private void record(String[] words) throws IOException {
        long[] record = new long[words.length];
        for (int at = 0; at < words.length; at++) {
            record[at] = Long.parseLong(words[at]);
        }
        if (record[0] == Snapshot.THREAD) {
            times();
            nodes = new ThreadNodes();
            nodes.begin(record, 0);
        } else if (record[0] == Snapshot.NODE) {
            nodes.add(record, 0, new Methods(new StringTable()));
        }
        pprof.records(record, record.length);
    }

    private void times() {
        if (nodes != null) {
            Figures figures = new Figures(nodes, pprof.header);
            for (int at = 0; at < nodes.count; at++) {
                out.append("TIMES ").append(Double.doubleToLongBits(figures.self[at]));
                out.append(' ').append(Double.doubleToLongBits(figures.total[at])).append('\n');
            }
            nodes = null;
        }
    }

    private void name(String[] archive, String symbols) throws IOException {
        int base = Integer.parseInt(archive[1]);
        Symbols names = new Symbols(null, "0", base, Integer.parseInt(archive[2]), null);
        names.read(new BufferedReader(new StringReader(symbols)), archive[4], Integer.parseInt(archive[3]), pprof.methods, pprof.header);
    }

    private void end() throws IOException {
        if (pprof != null) {
            pprof.finish();
            out.append("PPROF ");
            for (byte each : file.toByteArray()) {
                out.append(Character.forDigit(each >> 4 & 15, 16)).append(Character.forDigit(each & 15, 16));
            }
            out.append('\n');
        }
    }
}
