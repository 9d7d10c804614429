/** Three levels of ten methods, each calling all of the next: 10 + 100 + 1000 contexts. */
public class Wide {
    public static void main(String[] args) throws InterruptedException {
        PlainHog.fill(Integer.getInteger("free", 0));
        int threads = Integer.getInteger("threads", 0);
        int calls = 1;
        for (int n = 0; n < threads; n++) {
            PlainRounds rounds = new PlainRounds();
            rounds.start();
            rounds.join();
            calls += rounds.calls;
        }
        PlainHog.report(threads == 0 ? calls + PlainRounds.three() : calls);
    }

    /** A class that is not instrumented, so that each thread has the same tree as the main thread. */
    static class PlainRounds extends Thread {
        int calls;

        @Override
        public void run() {
            calls = three();
        }

        static int three() {
            int calls = 0;
            for (int round = 0; round < 3; round++) {
                for (int i = 0; i < 10; i++) {
                    calls += PlainCaller.call('x', i);
                }
            }
            return calls;
        }
    }

    static int x0() { return PlainCaller.each('y'); }
    static int x1() { return PlainCaller.each('y'); }
    static int x2() { return PlainCaller.each('y'); }
    static int x3() { return PlainCaller.each('y'); }
    static int x4() { return PlainCaller.each('y'); }
    static int x5() { return PlainCaller.each('y'); }
    static int x6() { return PlainCaller.each('y'); }
    static int x7() { return PlainCaller.each('y'); }
    static int x8() { return PlainCaller.each('y'); }
    static int x9() { return PlainCaller.each('y'); }
    static int y0() { return PlainCaller.each('z'); }
    static int y1() { return PlainCaller.each('z'); }
    static int y2() { return PlainCaller.each('z'); }
    static int y3() { return PlainCaller.each('z'); }
    static int y4() { return PlainCaller.each('z'); }
    static int y5() { return PlainCaller.each('z'); }
    static int y6() { return PlainCaller.each('z'); }
    static int y7() { return PlainCaller.each('z'); }
    static int y8() { return PlainCaller.each('z'); }
    static int y9() { return PlainCaller.each('z'); }
    static int z0() { return 1; }
    static int z1() { return 1; }
    static int z2() { return 1; }
    static int z3() { return 1; }
    static int z4() { return 1; }
    static int z5() { return 1; }
    static int z6() { return 1; }
    static int z7() { return 1; }
    static int z8() { return 1; }
    static int z9() { return 1; }

    /** A class that is not instrumented. The methods that it calls are shown below the method that calls it. */
    static class PlainCaller {
        static int each(char level) {
            int calls = 1;
            for (int i = 0; i < 10; i++) {
                calls += call(level, i);
            }
            return calls;
        }

        static int call(char level, int i) {
            switch (level) {
                case 'x':
                    switch (i) {
                        case 0: return x0();
                        case 1: return x1();
                        case 2: return x2();
                        case 3: return x3();
                        case 4: return x4();
                        case 5: return x5();
                        case 6: return x6();
                        case 7: return x7();
                        case 8: return x8();
                        default: return x9();
                    }
                case 'y':
                    switch (i) {
                        case 0: return y0();
                        case 1: return y1();
                        case 2: return y2();
                        case 3: return y3();
                        case 4: return y4();
                        case 5: return y5();
                        case 6: return y6();
                        case 7: return y7();
                        case 8: return y8();
                        default: return y9();
                    }
                case 'z':
                    switch (i) {
                        case 0: return z0();
                        case 1: return z1();
                        case 2: return z2();
                        case 3: return z3();
                        case 4: return z4();
                        case 5: return z5();
                        case 6: return z6();
                        case 7: return z7();
                        case 8: return z8();
                        default: return z9();
                    }
                default:
                    throw new IllegalArgumentException();
            }
        }
    }

    static class PlainHog {
        private static byte[][] hog = new byte[100000][];

        /** Fills the heap except for a given number of kilobytes. */
        static void fill(int kilobytes) {
            if (kilobytes == 0) {
                return;
            }
            Runtime runtime = Runtime.getRuntime();
            for (int n = 0; runtime.maxMemory() - runtime.totalMemory() + runtime.freeMemory() > kilobytes * 1024L; n++) {
                hog[n] = new byte[4096];
            }
        }

        static void report(int calls) {
            hog = null;
            System.out.println("expect calls " + calls);
        }
    }
}
