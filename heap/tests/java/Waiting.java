import java.util.concurrent.locks.LockSupport;

/**
 * A program with strings and arrays that occur more than once, and with threads that wait in methods with variables.
 */
public final class Waiting {
    static final String[] strings = new String[100];
    static final int[][] ints = new int[50][];
    static final String[] shared = new String[10];

    private static void hold(String text, int[] numbers, int depth) {
        Object local = new StringBuilder(text);
        if (depth > 0) {
            hold(text, numbers, depth - 1);
        } else {
            LockSupport.park();
        }
        System.out.println(local.hashCode() + text.length() + numbers.length);
    }

    private static Thread start(String name, int depth) {
        Thread thread = new Thread(() -> hold("text of " + name, new int[1234], depth), name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < strings.length; i++) {
            strings[i] = new String("said a hundred times".toCharArray());
        }
        for (int i = 0; i < ints.length; i++) {
            ints[i] = new int[777];
            ints[i][776] = -5;
        }
        // The copies share an array.
        String wide = new String("注文 shared".toCharArray());
        for (int i = 0; i < shared.length; i++) {
            shared[i] = new String(wide);
        }
        Thread[] threads = {start("holder one", 0), start("holder two", 3)};
        for (Thread thread : threads) {
            while (thread.getState() != Thread.State.WAITING) {
                Thread.sleep(1);
            }
        }
        if (arguments.length > 0) {
            // The program dumps its own heap, because a runtime without tools has no jcmd.
            java.lang.management.ManagementFactory.getPlatformMXBean(
                com.sun.management.HotSpotDiagnosticMXBean.class).dumpHeap(arguments[0], true);
        }
        System.out.println("ready");
        System.in.read();
        System.out.println(threads.length + wide);
    }
}
