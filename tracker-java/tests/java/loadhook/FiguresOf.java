package loadhook;

import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * Reads trees, and prints the bits of their self and total times. It is in the tracker's package, because it uses
 * internal classes.
 */
public final class FiguresOf {
    private FiguresOf() {
    }

    /**
     * Reads trees from standard input. A tree begins with a line of nine words: those of a header record after the
     * version. Each further line is a node.
     */
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder out = new StringBuilder();
        ThreadNodes nodes = null;
        Header header = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            boolean isHeader = words.length == 9;
            long[] record = new long[13];
            for (int at = 0; at < words.length; at++) {
                record[(isHeader ? 2 : 3) + at] = Long.parseLong(words[at]);
            }
            if (isHeader) {
                print(nodes, header, out);
                nodes = new ThreadNodes();
                header = new Header(record);
            } else {
                nodes.add(record, 2, new Methods(new StringTable()));
            }
        }
        print(nodes, header, out);
        System.out.print(out);
    }

    private static void print(ThreadNodes nodes, Header header, StringBuilder out) {
        if (nodes != null) {
            Figures figures = new Figures(nodes, header);
            for (int at = 0; at < nodes.count; at++) {
                long self = Double.doubleToLongBits(figures.self[at]);
                out.append(self).append(' ').append(Double.doubleToLongBits(figures.total[at])).append('\n');
            }
        }
    }
}
