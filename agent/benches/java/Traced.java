/**
 * Prints how long calls of a short method take: the mean in a loop, and the median of calls with a pause before every
 * hundredth, so that {@code loadhook trace} can take every call. Twenty frames are below each call.
 */
public final class Traced {
    private static final int LOOP = 10_000_000;
    private static final int APART = 2_001;

    private static int sum;

    static int inLoop(int number) {
        return number * 31 + 7;
    }

    static int apart(int number) {
        return number * 31 + 7;
    }

    private static void round(int depth) throws InterruptedException {
        if (depth > 0) {
            round(depth - 1);
            return;
        }
        long start = System.nanoTime();
        for (int i = 0; i < LOOP; i++) {
            sum = inLoop(sum);
        }
        double loop = (double) (System.nanoTime() - start) / LOOP;
        long[] times = new long[APART];
        for (int i = 0; i < APART; i++) {
            if (i % 100 == 0) {
                Thread.sleep(25);
            }
            long before = System.nanoTime();
            sum = apart(sum);
            times[i] = System.nanoTime() - before;
        }
        java.util.Arrays.sort(times);
        System.out.printf("in a loop %.2f ns, apart %d ns%n", loop, times[APART / 2]);
    }

    public static void main(String[] arguments) throws InterruptedException {
        int rounds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 60;
        for (int i = 0; i < rounds; i++) {
            round(20);
        }
        System.exit(sum == 42 ? 1 : 0);
    }
}
