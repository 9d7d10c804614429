import java.lang.reflect.Method;
import java.util.concurrent.ThreadFactory;

/**
 * Starts many threads, each of which makes one object and ends. With the argument {@code virtual}, they are virtual
 * threads.
 */
public final class HprofThreads {
    static final class OfThread {}

    static volatile Object last;

    static void make() {
        last = new OfThread();
    }

    private static ThreadFactory virtual() throws ReflectiveOperationException {
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        Method factory = Class.forName("java.lang.Thread$Builder").getMethod("factory");
        return (ThreadFactory) factory.invoke(builder);
    }

    public static void main(String[] args) throws Exception {
        ThreadFactory factory = args.length > 1 ? virtual() : work -> new Thread(work, "makes");
        Thread[] some = new Thread[10];
        for (int left = Integer.parseInt(args[0]); left > 0; left -= some.length) {
            for (int at = 0; at < some.length; at++) {
                some[at] = factory.newThread(HprofThreads::make);
                some[at].start();
            }
            for (Thread thread : some) {
                thread.join();
            }
        }
        System.out.println("done");
    }
}
