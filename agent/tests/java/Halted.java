/** Fills its heap and ends without releasing anything. */
public class Halted {
    static final Object[] ALL = new Object[1 << 20];

    public static void main(String[] args) throws Exception {
        // The class is loaded now, so that halting needs no heap.
        Class.forName("java.lang.Shutdown");
        Runtime runtime = Runtime.getRuntime();
        int filled = 0;
        for (int size = 100_000; size >= 100; size /= 10) {
            try {
                while (true) {
                    ALL[filled++] = new byte[size];
                }
            } catch (OutOfMemoryError full) {
                filled++;
            }
        }
        runtime.halt(3);
    }
}
