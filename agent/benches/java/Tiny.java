/**
 * Calls a tiny method. Prints the nanoseconds of a call on one thread, and on each of two threads.
 */
public final class Tiny {
    private static final int CALLS = 2_000_000;

    int sum;

    private Tiny() {
    }

    int tiny(int i) {
        return sum += i;
    }

    static double round(Tiny tiny) {
        long start = System.nanoTime();
        for (int i = 0; i < CALLS; i++) {
            tiny.tiny(i);
        }
        return (System.nanoTime() - start) / (double) CALLS;
    }

    public static void main(String[] args) throws InterruptedException {
        Best.print(Integer.parseInt(args[0]), () -> {
            Tiny tiny = new Tiny();
            return () -> round(tiny);
        });
    }
}
