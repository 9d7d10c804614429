import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.function.IntSupplier;

/**
 * Measures operations of a program on one thread. The operations run in turn; each is timed on its own, by the processor
 * time of the thread, so that other work on the machine counts little.
 */
final class Measured {
    /** The operations' results are written to this field, so that the JIT cannot remove the operations. */
    static volatile int sink;

    private Measured() {
    }

    /**
     * Prints the nanoseconds that each operation takes, after {@code RESULT}: first for each the median over the last two
     * thirds of the rounds, then for each the mean over all rounds. A round runs each operation the given number of times.
     *
     * @param args the number of rounds, and {@code other} to run the operations on another thread than the main thread
     */
    static void print(String[] args, int times, IntSupplier... operations) {
        int rounds = Integer.parseInt(args[0]);
        if (args.length > 1) {
            new Thread(() -> print(rounds, times, operations), args[1]).start();
        } else {
            print(rounds, times, operations);
        }
    }

    private static void print(int rounds, int times, IntSupplier... operations) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        double[][] nanos = new double[operations.length][rounds];
        for (int round = 0; round < rounds; round++) {
            for (int n = 0; n < operations.length; n++) {
                long start = threads.getCurrentThreadCpuTime();
                int sum = 0;
                for (int i = 0; i < times; i++) {
                    sum += operations[n].getAsInt();
                }
                nanos[n][round] = (threads.getCurrentThreadCpuTime() - start) / (double) times;
                sink = sum;
            }
        }
        StringBuilder result = new StringBuilder("RESULT");
        for (double[] of : nanos) {
            double[] last = java.util.Arrays.copyOfRange(of, rounds / 3, rounds);
            java.util.Arrays.sort(last);
            result.append(' ').append(last[last.length / 2]);
        }
        for (double[] of : nanos) {
            result.append(' ').append(java.util.Arrays.stream(of).average().getAsDouble());
        }
        System.out.println(result);
    }
}
