package loadhook;

import java.util.concurrent.locks.LockSupport;

/** Without an agent the JDK is not instrumented, so that its methods can be called anywhere. */
final class ParkingBackoff extends Backoff {
    @Override
    void pause(int before) {
        if (before < 100) {
            Thread.yield();
        } else {
            LockSupport.parkNanos(1000000);
            // The program may wait for what this has used up.
            LockSupport.unpark(Thread.currentThread());
        }
    }
}
