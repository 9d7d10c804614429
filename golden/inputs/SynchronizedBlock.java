// javac 17 flags: -g
/** synchronized blocks, nested, left by return and by exception. */
public class SynchronizedBlock {
    static int test(Object lock, int n) {
        synchronized (lock) {
            if (n == 0) {
                return 1;
            }
            synchronized (SynchronizedBlock.class) {
                return 8 / (n - 1);
            }
        }
    }

    public static Object run() {
        Object lock = new Object();
        try {
            return test(lock, 0) + "," + test(lock, 3) + test(lock, 1);
        } catch (ArithmeticException e) {
            return "free " + !Thread.holdsLock(lock);
        }
    }
}
