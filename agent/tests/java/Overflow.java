/**
 * Stack overflows in every position. The first code of each method, right after the entry probe and with no call
 * between, counts the call, so the program and the probe count the same.
 */
public final class Overflow {
    static long dives;
    static long swings;
    static long swungs;
    static long tries;
    static long cleans;
    static long locks;
    static long both;
    static long guards;
    static long leaves;
    static long makes;
    static long held;

    static void leaf() {
        leaves++;
    }

    static int dive(int n) {
        dives++;
        return dive(n + 1) + 1;
    }

    static void swing(long a, long b, double c) {
        swings++;
        swung(a + 1, b, c, a + b);
    }

    static synchronized void swung(long a, long b, double c, long d) {
        swungs++;
        swing(a, b + d, c);
        leaf();
    }

    /** Handlers that run near the end of the stack, and overflow it again. */
    static void tries(int n) {
        tries++;
        try {
            tries(n + 1);
        } catch (StackOverflowError e) {
            if (n % 64 == 0) {
                leaf();
            }
            throw e;
        } finally {
            if (n % 100 == 0) {
                leaf();
            }
        }
    }

    static void cleans(int n) {
        cleans++;
        try {
            cleans(n + 1);
        } finally {
            if (n % 100 == 0) {
                leaf();
            }
        }
    }

    /** Handlers that cover their own code: those of {@code synchronized} and of {@code finally} after {@code catch}. */
    static void locks(int n) {
        locks++;
        synchronized (Overflow.class) {
            locks(n + 1);
        }
    }

    static void both(int n) {
        both++;
        try {
            both(n + 1);
        } catch (IllegalStateException e) {
            leaf();
        } finally {
            if (n % 100 == 0) {
                leaf();
            }
        }
    }

    /** Handlers inside a lock. The lock is released in every case. */
    static void guards(int n) {
        guards++;
        synchronized (Overflow.class) {
            try {
                guards(n + 1);
            } catch (IllegalStateException e) {
                leaf();
            } finally {
                if (n % 100 == 0) {
                    leaf();
                }
            }
        }
    }

    /**
     * A class that is not instrumented. Its parameter lets constructors of subclasses count before they call {@code
     * super(…)}.
     */
    static class Doll {
        Doll(long counted) {
        }
    }

    static final class Matryoshka extends Doll {
        final Object inner;

        Matryoshka() {
            super(makes++);
            inner = new Matryoshka();
        }
    }

    static void overflow(int kind) {
        try {
            switch (kind) {
                case 0: dive(0); break;
                case 1: swing(1, 2, 3); break;
                case 2: tries(0); break;
                case 3: cleans(0); break;
                case 4: locks(0); break;
                case 5: both(0); break;
                case 6: guards(0); break;
                default: new Matryoshka(); break;
            }
        } catch (StackOverflowError e) {
            after(kind);
        }
        after(kind);
    }

    static void after(int kind) {
        if (Thread.holdsLock(Overflow.class)) {
            held++;
        }
    }

    static void rounds() {
        for (int i = 0; i < 80; i++) {
            overflow(i % 8);
        }
    }

    public static void main(String[] args) throws Exception {
        // The thread's stack has a fixed size, which does not depend on limits of the system.
        Thread thread = new Thread(null, Overflow::rounds, "overflows", 512 * 1024);
        thread.start();
        thread.join();
        System.out.println(dives + " " + swings + " " + swungs + " " + tries + " " + cleans + " " + locks + " " + both + " "
                + guards + " " + makes + " " + leaves + " " + held);
    }
}
