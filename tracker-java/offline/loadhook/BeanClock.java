package loadhook;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** Processor time as {@code java.management} tells it. Only this class knows that module, which an image may lack. */
final class BeanClock extends CpuClock {
    private final ThreadMXBean bean = ManagementFactory.getThreadMXBean();

    BeanClock() {
        if (!bean.isCurrentThreadCpuTimeSupported()) {
            throw new UnsupportedOperationException("this JVM does not tell threads' processor time");
        }
        if (!bean.isThreadCpuTimeEnabled()) {
            bean.setThreadCpuTimeEnabled(true);
        }
    }

    @Override
    long now() {
        try {
            return Math.max(0, bean.getCurrentThreadCpuTime());
        } catch (RuntimeException error) {
            // On a virtual thread, of which no call is timed.
            return 0;
        }
    }
}
