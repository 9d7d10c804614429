/** Stack overflows, caught at different depths. The program counts its own calls. */
public class StackOverflow {
    private static long recursions;
    private static long leaves;
    private static long caught;

    public static void main(String[] args) throws Exception {
        Thread thread = new Thread(null, StackOverflow::run, "overflowing", 512 * 1024);
        thread.start();
        thread.join();
        PlainReport.print(recursions, leaves, caught);
    }

    static void run() {
        for (int i = 0; i < 200; i++) {
            attempt(i);
            after();
        }
    }

    static void attempt(int i) {
        try {
            recurse(i % 7);
        } catch (StackOverflowError e) {
            caught++;
            after();
        }
    }

    /** Calls itself with frames of different sizes, so that the stack ends in every part of a probe. */
    static void recurse(int size) {
        recursions++;
        leaf();
        if (size == 0) {
            recurse(0);
        } else {
            wider(size, 1L, 2L, 3.0, 4.0);
        }
    }

    static void wider(int size, long a, long b, double c, double d) {
        recursions++;
        if (size % 2 == 0) {
            recurse(size);
        } else {
            wider(size + (int) a - 1, a, b, c, d);
        }
    }

    static void leaf() {
        leaves++;
    }

    static void after() {
    }

    static class PlainReport {
        static void print(long recursions, long leaves, long caught) {
            System.out.println("expect recursions " + recursions);
            System.out.println("expect leaves " + leaves);
            System.out.println("expect caught " + caught);
        }
    }
}
