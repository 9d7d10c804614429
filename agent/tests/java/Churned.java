import java.util.ArrayList;
import java.util.List;

/** Keeps some objects from its start on, and drops many more, most of which die before their second collection. */
public class Churned {
    static final List<byte[]> KEPT = new ArrayList<>();
    static volatile Object sink;

    public static void main(String[] args) {
        for (int i = 0; i < 2000; i++) {
            KEPT.add(new byte[10_000]); // @kept
        }
        for (int i = 0; i < 300_000; i++) {
            sink = new int[2500]; // @dropped
            // The second collection finds the objects made after the first one.
            if (i == 20_000 || i == 40_000) {
                System.gc();
            }
        }
        for (int i = 0; i < 2000; i++) {
            KEPT.add(new byte[10_000]); // @late
        }
        System.out.println("kept " + KEPT.size());
        if (args[0].equals("exit")) {
            System.exit(7);
        }
    }
}
