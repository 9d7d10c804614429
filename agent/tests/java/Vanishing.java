import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** Allocates objects that never leave their method: compiled code makes none. Prints the bytes of the last rounds. */
public class Vanishing {
    private static final ThreadMXBean BEAN = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    static final class Pair {
        final int a;
        final int b;

        Pair(int a, int b) {
            this.a = a;
            this.b = b;
        }
    }

    static int sum(int from) {
        int sum = 0;
        for (int at = from; at < from + 100; at++) {
            Pair pair = new Pair(at, from);
            int[] both = new int[2];
            both[0] = pair.a;
            both[1] = pair.b;
            sum += both[0] ^ both[1];
        }
        return sum;
    }

    static long rounds(int count) {
        long before = BEAN.getThreadAllocatedBytes(Thread.currentThread().getId());
        int sum = 0;
        for (int at = 0; at < count; at++) {
            sum += sum(at);
        }
        long bytes = BEAN.getThreadAllocatedBytes(Thread.currentThread().getId()) - before;
        return sum == 1 ? bytes + 1 : bytes;
    }

    public static void main(String[] args) {
        for (int at = 0; at < 20; at++) {
            rounds(1000);
        }
        System.out.println(rounds(10000));
    }
}
