import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Reads numbers of milliseconds, one a line. For each number, works on a document for that time, and prints the
 * nanoseconds of processor time that a round took.
 */
public final class Returning {
    private static final String DOCUMENT = Json.document();
    private static final Object VALUE = new Json.Reader(DOCUMENT).value();

    private Returning() {
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(work(Long.parseLong(line.trim())));
        }
    }

    /**
     * Works for some milliseconds, and returns the nanoseconds of processor time of a round. Each call is short, so
     * that the next call runs code that was compiled meanwhile.
     */
    private static long work(long millis) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long end = System.nanoTime() + millis * 1_000_000;
        long begin = threads.getCurrentThreadCpuTime();
        long rounds = 0;
        for (; System.nanoTime() < end; rounds++) {
            round();
        }
        return (threads.getCurrentThreadCpuTime() - begin) / rounds;
    }

    private static void round() {
        if (Json.parse(DOCUMENT) + Json.print(VALUE) + Json.sums(VALUE) == 0) {
            throw new IllegalStateException();
        }
    }
}
