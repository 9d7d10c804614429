/** Ways out of a method, each taken a known number of times. */
public final class Exits {
    static class Base {
        Base(boolean fail) {
            if (fail) {
                throw new IllegalStateException("no");
            }
        }
    }

    static final class Derived extends Base {
        final int value;

        Derived(boolean fail) {
            super(fail);
            value = leaf(1);
        }
    }

    static int leaf(int i) {
        return Integer.toString(i).length();
    }

    static int work(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum += leaf(i);
        }
        return sum;
    }

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static void thrower(int i) {
        if (i % 2 == 0) {
            throw new RuntimeException(String.valueOf(i));
        }
        leaf(i);
    }

    static void through(int i) {
        thrower(i);
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 1000; i++) {
            try {
                through(i);
            } catch (RuntimeException e) {
                leaf(i);
            }
        }
        for (int i = 0; i < 100; i++) {
            try {
                new Derived(i % 4 == 0);
            } catch (IllegalStateException e) {
                leaf(i);
            }
        }
        System.out.println(fib(20));
        Thread[] threads = new Thread[8];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> work(1000), "worker-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.exit(7);
    }
}
