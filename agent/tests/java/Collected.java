import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;

/** Collects garbage three times by request and fills the heap, and prints how often the JVM has collected. */
public final class Collected {
    static volatile byte[] last;

    public static void main(String[] args) {
        for (int at = 0; at < 3; at++) {
            System.gc();
        }
        for (int at = 0; at < 8000; at++) {
            last = new byte[16_000];
        }
        long all = 0;
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            all += bean.getCollectionCount();
        }
        System.out.println(all);
    }
}
