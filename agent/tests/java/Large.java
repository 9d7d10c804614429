/** Allocates a large array, then 500 small objects, and so on. */
public class Large {
    static Object sink;

    static final class Small {
        long a, b, c, d;
    }

    public static void main(String[] args) {
        for (int i = 0; i < 2_000; i++) {
            sink = new byte[400_000]; // @large
            for (int j = 0; j < 500; j++) {
                sink = new Small(); // @small
            }
        }
    }
}
