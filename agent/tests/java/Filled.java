import java.util.ArrayList;
import java.util.List;

/** Fills the heap again and again. */
public class Filled {
    public static void main(String[] args) {
        int most = args.length > 0 ? 1000 : Integer.MAX_VALUE;
        int filled = 0;
        for (int i = 0; i < 5; i++) {
            List<long[]> all = new ArrayList<>();
            try {
                while (all.size() < most) {
                    all.add(new long[100]);
                }
                filled++;
            } catch (OutOfMemoryError error) {
                all = null;
                filled++;
            }
        }
        System.out.println("filled " + filled);
    }
}
