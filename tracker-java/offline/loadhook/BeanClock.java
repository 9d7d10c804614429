package loadhook;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** Reads CPU time from {@code java.management}. No other class uses that module, which a runtime image may lack. */
final class BeanClock extends CpuClock {
    private final ThreadMXBean bean = ManagementFactory.getThreadMXBean();

    BeanClock() {
        if (!bean.isCurrentThreadCpuTimeSupported()) {
            throw new UnsupportedOperationException("this JVM does not measure the processor time of threads");
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
            // The JDK throws this exception for a virtual thread, whose calls are not timed.
            return 0;
        }
    }
}
