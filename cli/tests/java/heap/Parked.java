package heap;

import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Virtual threads that wait. Each of them has a local variable that alone keeps an object alive. */
public final class Parked {
    static final class Mine {
        volatile int number = 7;
    }

    static final CountDownLatch BEGUN = new CountDownLatch(100);

    static void park() {
        Mine mine = new Mine();
        BEGUN.countDown();
        while (mine.number == 7) {
            LockSupport.park();
        }
        System.out.println(mine.number);
    }

    public static void main(String[] arguments) throws Exception {
        // Reflection is needed: the class is compiled for a JDK without virtual threads.
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        Runnable body = Parked::park;
        for (int i = 0; i < 100; i++) {
            start.invoke(null, body);
        }
        BEGUN.await();
        System.out.println("waiting");
        // Waits until standard input ends, so that the program never outlives its test.
        System.exit(System.in.read() < 0 ? 0 : 1);
    }
}
