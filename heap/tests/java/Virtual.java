import java.util.concurrent.locks.LockSupport;

/** A virtual thread that waits in a method with a local variable. */
public final class Virtual {
    private static void hold(String text) {
        LockSupport.park();
        System.out.println(text);
    }

    public static void main(String[] arguments) throws Exception {
        Thread thread = Thread.ofVirtual().name("virtual one").start(() -> hold("text of one"));
        while (thread.getState() != Thread.State.WAITING) {
            Thread.sleep(1);
        }
        java.lang.management.ManagementFactory.getPlatformMXBean(
            com.sun.management.HotSpotDiagnosticMXBean.class).dumpHeap(arguments[0], true);
    }
}
