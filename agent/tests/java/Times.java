/** Measures its own times: pauses in short calls, and small methods beside copies without probes. */
public class Times {
    static final int ROUNDS = 400;

    static long sink;

    public static void main(String[] args) throws InterruptedException {
        for (int i = 0; i < 400000; i++) {
            pausing(i);
        }
        long twin = 0;
        for (int round = 0; round < ROUNDS; round++) {
            work(round);
            long start = System.nanoTime();
            Twin.work(round);
            // Count only the second half of the rounds, when both methods are compiled.
            twin += round < ROUNDS / 2 ? 0 : System.nanoTime() - start;
            if (round >= ROUNDS / 2) {
                compiledWork(round);
            }
        }
        for (int round = 0; round < 60; round++) {
            longWork(round);
        }
        System.out.println(sink == 42 ? "" : "twin " + twin);
    }

    /** Sleeps for 20 ms in 20 of 400,000 calls: 400 ms in all. */
    static void pausing(int i) throws InterruptedException {
        if (i % 20000 == 19999) {
            Thread.sleep(20);
        }
    }

    static void work(int seed) {
        long sum = seed;
        for (int i = 0; i < 20000; i++) {
            sum = step(sum);
        }
        sink += sum;
    }

    static void compiledWork(int seed) {
        work(seed);
    }

    /** Works longer than a probe takes, but not long enough for a tick of the sampler. */
    static void longWork(int seed) {
        long sum = seed;
        for (int i = 0; i < 1000; i++) {
            sum = longer(sum);
        }
        sink += sum;
    }

    static long longer(long x) {
        for (int i = 0; i < 4000; i++) {
            x = x * 31 + i ^ x >>> 7;
        }
        return x;
    }

    static long step(long x) {
        for (int i = 0; i < 20; i++) {
            x = x * 31 + i ^ x >>> 7;
        }
        return x;
    }

    /** The same methods, not instrumented. */
    static class Twin {
        static void work(int seed) {
            long sum = seed;
            for (int i = 0; i < 20000; i++) {
                sum = step(sum);
            }
            sink += sum;
        }

        static long step(long x) {
            for (int i = 0; i < 20; i++) {
                x = x * 31 + i ^ x >>> 7;
            }
            return x;
        }
    }
}
