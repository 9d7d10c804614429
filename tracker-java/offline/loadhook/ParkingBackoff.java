package loadhook;

import java.util.concurrent.locks.LockSupport;

/** Pauses by methods of the JDK, which have no probes in a JVM without an agent. */
final class ParkingBackoff extends Backoff {
    @Override
    void pause(int before) {
        if (before < 100) {
            Thread.yield();
        } else {
            LockSupport.parkNanos(1000000);
            // Parking may have used up a permit that the program gave this thread. So the permit is given back.
            LockSupport.unpark(Thread.currentThread());
        }
    }
}
