import java.io.File;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Keeps some of its objects to the end, and more of them after the first snapshot. */
public class Kept {
    static final Map<Integer, byte[]> KEPT = new HashMap<>();
    static final List<int[]> GROWING = new ArrayList<>();
    static volatile Object sink;

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 8000; i++) {
            KEPT.put(i, new byte[10_000]); // @kept
        }
        for (int i = 0; i < 40_000; i++) {
            sink = new byte[10_000]; // @dropped
        }
        sink = null;
        for (int i = 0; i < 5; i++) {
            System.gc();
        }
        if (args.length > 0) {
            while (!new File(args[0]).exists()) {
                Thread.sleep(10);
            }
            for (int i = 0; i < 5000; i++) {
                GROWING.add(new int[2500]); // @grows
            }
        }
        System.out.println("kept " + KEPT.size());
    }
}
