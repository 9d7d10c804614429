import java.lang.management.ManagementFactory;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import javax.management.ObjectName;

/** Runs virtual threads that wait at different depths, and prints the JVM's own class histogram. */
public final class Parked {
    private static void hold(int depth, Object variable) {
        if (depth > 0) {
            hold(depth - 1, variable);
        }
        while (depth == 0) {
            LockSupport.park();
        }
        System.out.println(variable);
    }

    /** The stack of a virtual thread: its {@code jdk.internal.vm.StackChunk}. */
    private static Object stack(Thread thread) throws ReflectiveOperationException {
        return field(field(thread, thread.getClass(), "cont"),
            Class.forName("jdk.internal.vm.Continuation"), "tail");
    }

    private static Object field(Object object, Class<?> type, String name)
            throws ReflectiveOperationException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(object);
    }

    public static void main(String[] arguments) throws Exception {
        Runnable resolved = () -> System.out.println("never said");
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            int depth = i;
            threads.add(Thread.ofVirtual().start(() -> hold(depth, resolved)));
        }
        for (Thread thread : threads) {
            while (thread.getState() != Thread.State.WAITING) {
                Thread.sleep(1);
            }
        }
        Object stack = stack(threads.get(threads.size() - 1));
        Object said = ManagementFactory.getPlatformMBeanServer().invoke(
            new ObjectName("com.sun.management:type=DiagnosticCommand"),
            "gcClassHistogram",
            new Object[] {new String[0]},
            new String[] {String[].class.getName()});
        System.out.println(said);
        ManagementFactory.getPlatformMXBean(com.sun.management.HotSpotDiagnosticMXBean.class)
            .dumpHeap(arguments[0], true);
        if (stack == null) {
            throw new IllegalStateException("the thread has no stack");
        }
    }
}
