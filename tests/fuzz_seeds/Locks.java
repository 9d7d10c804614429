/** Synchronized methods and blocks, left by return and by exception. */
public class Locks {
    private static final Object LOCK = new Object();
    private int value;

    public static Object run() {
        Locks locks = new Locks();
        String out = "";
        for (int i = 0; i < 5; i++) {
            try {
                out += locks.add(i) + guarded(i) + nested(locks, i) + " ";
            } catch (RuntimeException e) {
                out += e.getMessage() + Thread.holdsLock(LOCK) + Thread.holdsLock(locks) + " ";
            }
        }
        return out + locks.value;
    }

    synchronized int add(int n) {
        if (n == 2) {
            throw new IllegalStateException("two");
        }
        value += n;
        return value;
    }

    static synchronized int guarded(int n) {
        synchronized (LOCK) {
            if (n == 1) {
                return 11;
            }
            if (n == 3) {
                throw new IllegalArgumentException("three");
            }
        }
        return n;
    }

    static int nested(Locks locks, int n) {
        synchronized (LOCK) {
            synchronized (locks) {
                try {
                    return 10 / (n - 4);
                } catch (ArithmeticException e) {
                    return locks.add(5);
                } finally {
                    locks.value++;
                }
            }
        }
    }
}
