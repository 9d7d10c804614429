import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;

/** Prints the nanoseconds of two bare calls of native methods, and those of one call of a method. */
public class MethodCost {
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    /** Short rounds in turns, so that both kinds of calls meet the same other load of the machine. */
    static final int ROUNDS = 90;
    /** A round takes so long that the clock does not matter, also if a call takes microseconds. */
    static final long ROUND_NANOS = 10_000_000;

    static volatile int sink;

    static native void enter(int number);

    static native void exit(int number);

    static int work(int i) {
        return i * 31 + (i >>> 3);
    }

    static int bare(int calls) {
        int sum = 0;
        for (int i = 0; i < calls; i++) {
            enter(i);
            sum += i * 31 + (i >>> 3);
            exit(i);
        }
        return sum;
    }

    static int called(int calls) {
        int sum = 0;
        for (int i = 0; i < calls; i++) {
            sum += work(i);
        }
        return sum;
    }

    static double nanos(boolean isBare) {
        int calls = 1000, batches = 0;
        long began = System.nanoTime(), cpuBegan = THREADS.getCurrentThreadCpuTime();
        do {
            sink = isBare ? bare(calls) : called(calls);
            batches++;
        } while (System.nanoTime() - began < ROUND_NANOS);
        return (THREADS.getCurrentThreadCpuTime() - cpuBegan) / ((double) calls * batches);
    }

    public static void main(String[] args) {
        System.load(args[0]);
        double[] bare = new double[ROUNDS], called = new double[ROUNDS];
        for (int i = 0; i < ROUNDS; i++) {
            bare[i] = nanos(true);
            called[i] = nanos(false);
        }
        // The first rounds warm the compiler up; the median of the others counts.
        System.out.println(median(bare) + " " + median(called));
    }

    static double median(double[] rounds) {
        double[] warm = Arrays.copyOfRange(rounds, ROUNDS / 3, ROUNDS);
        Arrays.sort(warm);
        return warm[warm.length / 2];
    }
}
