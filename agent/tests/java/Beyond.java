/** Makes the JVM allocate arrays; their instrumented caller is within or beyond the recorded frames. */
public final class Beyond {
    private static final int ROUNDS = 3000;

    private static final class Chosen {
        static int all(int depth) {
            int sum = 0;
            for (int at = 0; at < ROUNDS; at++) {
                sum += Other.at(depth).length;
            }
            return sum;
        }

        static int within(int depth) {
            return depth == 0 ? all(10) : within(depth - 1);
        }
    }

    private static final class Other {
        private static final long[] ONE = new long[1];

        static long[] at(int depth) {
            return depth == 0 ? ONE.clone() : at(depth - 1);
        }
    }

    public static void main(String[] args) {
        System.out.println(Chosen.all(10) + Chosen.all(200) + Chosen.within(200));
    }
}
