// javac 17 flags: -g
/** synchronized methods, static and not. */
public class SynchronizedMethod {
    private int count;

    synchronized int next() {
        return ++count;
    }

    static synchronized int fail(int n) {
        if (n == 0) {
            throw new IllegalArgumentException();
        }
        return n;
    }

    public static Object run() {
        SynchronizedMethod one = new SynchronizedMethod();
        try {
            return one.next() + one.next() + fail(3) + fail(0);
        } catch (IllegalArgumentException e) {
            return "free " + !Thread.holdsLock(SynchronizedMethod.class);
        }
    }
}
