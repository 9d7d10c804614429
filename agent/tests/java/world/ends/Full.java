import java.util.ArrayList;
import java.util.List;

/** Fills the heap except for a given number of kilobytes, works for a while, and ends. */
public final class Full {
    private static final int CHUNK = 1024;

    private Full() {
    }

    static long work(int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            sum += i * 31L;
        }
        return sum;
    }

    private static boolean hasMore(long keep) {
        Runtime runtime = Runtime.getRuntime();
        return runtime.maxMemory() - runtime.totalMemory() + runtime.freeMemory() > keep + CHUNK;
    }

    public static void main(String[] args) throws Exception {
        List<byte[]> kept = new ArrayList<>(100000);
        long keep = Long.parseLong(args[0]) * 1024;
        while (true) {
            if (!hasMore(keep)) {
                System.gc();
                if (!hasMore(keep)) {
                    break;
                }
            }
            kept.add(new byte[CHUNK]);
        }
        long end = System.nanoTime() + 500000000L;
        while (System.nanoTime() < end) {
            work(1000);
        }
        System.out.println(kept.size() > 100 ? "full" : "not full");
        System.exit(8);
    }
}
