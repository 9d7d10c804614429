import java.util.ArrayList;
import java.util.List;

/** Fills the heap, and ends by the error. */
public final class HprofFull {
    static final List<long[]> kept = new ArrayList<>();

    public static void main(String[] args) {
        while (true) {
            kept.add(new long[1000]);
        }
    }
}
