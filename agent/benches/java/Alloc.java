/**
 * Makes small objects and arrays that escape to other code. Prints the nanoseconds of an allocation
 * on one thread, and on each of two threads.
 */
public final class Alloc {
    /** Rounds are short, so that most end before another process gets the processor. */
    private static final int ROUND = 20_000;

    static final class Pair {
        final int a;
        final int b;

        Pair(int a, int b) {
            this.a = a;
            this.b = b;
        }
    }

    /** The data of a thread, far from the data of other threads. */
    final Object[] kept = new Object[1024];

    private Alloc() {
    }

    void make(int i) {
        Object[] kept = this.kept;
        kept[i & 255] = new Pair(i, i);
        kept[256 + (i & 255)] = new int[i & 7];
    }

    static double round(Alloc alloc) {
        long start = System.nanoTime();
        for (int i = 0; i < ROUND; i++) {
            alloc.make(i);
        }
        return (System.nanoTime() - start) / (2.0 * ROUND);
    }

    public static void main(String[] args) throws InterruptedException {
        Best.print(Integer.parseInt(args[0]), () -> {
            Alloc alloc = new Alloc();
            return () -> round(alloc);
        });
    }
}
