/** Keeps all objects until not even a small one fits, and ends with an OutOfMemoryError. */
public class Leaking {
    static Leaking last;

    final Leaking before;
    final byte[] held;

    Leaking(Leaking before, byte[] held) {
        this.before = before;
        this.held = held;
    }

    public static void main(String[] args) {
        // Use ever smaller arrays: ParallelGC collects the whole heap for each object of the last two megabytes.
        for (int size = Integer.parseInt(args[0]);; size /= 10) {
            try {
                while (true) {
                    last = new Leaking(last, new byte[size]);
                }
            } catch (OutOfMemoryError full) {
                if (size < 50) {
                    throw full;
                }
            }
        }
    }
}
