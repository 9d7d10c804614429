import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

/**
 * Fills its heap and ends without letting go of anything; with an argument it lets go of all, and has a thread of that
 * name.
 */
public class Halted {
    static final Object[] ALL = new Object[1 << 20];

    public static void main(String[] args) throws Exception {
        // What halts needs no heap then.
        Class.forName("java.lang.Shutdown");
        Runtime runtime = Runtime.getRuntime();
        if (args.length > 0) {
            Thread thread = new Thread(Halted::parkForEver, args[0]);
            thread.setDaemon(true);
            thread.start();
            Arrays.fill(ALL, null);
        }
        int filled = 0;
        for (int size = 100_000; size >= 100; size /= 10) {
            try {
                while (true) {
                    ALL[filled++] = new byte[size];
                }
            } catch (OutOfMemoryError full) {
                filled++;
            }
        }
        if (args.length > 0) {
            Arrays.fill(ALL, null);
        }
        runtime.halt(3);
    }

    private static void parkForEver() {
        while (true) {
            LockSupport.park();
        }
    }
}
