/** Recursion: direct, through other methods, and left by exceptions. */
public final class Recursion {
    static final class Enough extends RuntimeException {
        Enough() {
            super(null, null, false, false);
        }
    }

    static long leaves;

    static void leaf() {
        leaves++;
    }

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static boolean even(int n) {
        leaf();
        return n == 0 || odd(n - 1);
    }

    static boolean odd(int n) {
        return n != 0 && even(n - 1);
    }

    // Recursion through three methods, each of which can end it.

    static void first(int n) {
        if (n == 0) {
            throw new Enough();
        }
        second(n - 1);
        leaf();
    }

    static void second(int n) {
        try {
            third(n);
        } catch (Enough e) {
            leaf();
        }
    }

    static void third(int n) {
        try {
            first(n);
        } finally {
            leaf();
        }
    }

    /** Throws at the deepest call. Every tenth call catches the exception and throws a new one. */
    static void descend(int n) {
        if (n == 0) {
            throw new Enough();
        }
        if (n % 10 != 0) {
            descend(n - 1);
            return;
        }
        try {
            descend(n - 1);
        } catch (Enough e) {
            leaf();
            throw e;
        }
    }

    /** A field's initialiser makes another object of the class, so constructors run within each other. */
    static final class Chain {
        final Chain next;

        Chain(int n) {
            next = n == 0 ? null : new Chain(n - 1);
            leaf();
        }
    }

    static int depth(int n) {
        return n == 0 ? 0 : 1 + depth(n - 1);
    }

    static void deep() {
        leaves += depth(1000000);
        leaf();
    }

    public static void main(String[] args) throws Exception {
        System.out.println(fib(20));
        for (int i = 0; i < 1000; i++) {
            even(10);
            first(3);
            try {
                descend(100);
            } catch (Enough e) {
                leaf();
            }
            new Chain(9);
        }
        Thread thread = new Thread(null, Recursion::deep, "deep", 1 << 30);
        thread.start();
        thread.join();
        System.out.println(leaves);
    }
}
