import java.util.Arrays;
import java.util.List;

/** Ways out of a method, each taken a known number of times. {@code Outside} is left out of the instrumentation. */
public final class Exits {
    static final int ROUNDS = 10000;

    static long leaves;

    static void leaf() {
        leaves++;
    }

    static int returns(int i) {
        for (int at = 0; at < 10; at++) {
            if (at == i % 10) {
                return at;
            }
        }
        return -1;
    }

    static void throwsItself(int i) {
        if (i % 2 == 0) {
            throw new IllegalStateException();
        }
        leaf();
    }

    static void passesOn(int i) {
        throwsItself(i);
        leaf();
    }

    static int nullPointer(Object object) {
        return object.hashCode();
    }

    static int outOfBounds(int[] array, int at) {
        return array[at];
    }

    static int divides(int by) {
        return 10 / by;
    }

    static String casts(Object object) {
        return (String) object;
    }

    static int[] allocates(int length) {
        return new int[length];
    }

    static void catchesInside(int i) {
        try {
            throwsItself(i);
        } catch (IllegalStateException e) {
            leaf();
        }
        leaf();
    }

    static void catchesItsOwn(Object object) {
        try {
            object.hashCode();
        } catch (NullPointerException e) {
            leaf();
        }
    }

    static void hasFinally(int i) {
        try {
            throwsItself(i);
        } finally {
            leaf();
        }
    }

    @SuppressWarnings("finally")
    static int finallyReturns(int i) {
        try {
            throwsItself(i);
            return 1;
        } finally {
            return 2;
        }
    }

    static void nested(int i) {
        try {
            try {
                throwsItself(i);
            } catch (IllegalStateException e) {
                leaf();
                throw new IllegalArgumentException(e);
            } finally {
                passesOn(1);
            }
        } catch (IllegalArgumentException e) {
            leaf();
        }
    }

    static synchronized void synchronizedMethod(int i) {
        throwsItself(i);
    }

    static void synchronizedBlock(Object lock, int i) {
        synchronized (lock) {
            throwsItself(i);
        }
    }

    static void throughJdk(List<Integer> numbers) {
        numbers.forEach(number -> throwsItself(number));
    }

    static void throughOutside(int i) {
        Outside.passesOn(i);
        leaf();
    }

    static void outsideCatches(int i) {
        Outside.catches(i);
        leaf();
    }

    static final class Outside {
        static void passesOn(int i) {
            Exits.passesOn(i);
        }

        static void catches(int i) {
            try {
                Exits.passesOn(i);
            } catch (IllegalStateException e) {
                leaf();
            }
            leaf();
        }
    }

    static int round(int i, Object lock, List<Integer> pair) {
        int caught = 0;
        int even = i % 2;
        returns(i);
        for (int way = 0; way < 16; way++) {
            try {
                switch (way) {
                    case 0: throwsItself(i); break;
                    case 1: passesOn(i); break;
                    case 2: nullPointer(even == 0 ? null : lock); break;
                    case 3: outOfBounds(new int[1], 1 - even); break;
                    case 4: divides(even); break;
                    case 5: casts(even == 0 ? lock : ""); break;
                    case 6: allocates(even - 1); break;
                    case 7: catchesInside(i); break;
                    case 8: catchesItsOwn(even == 0 ? null : lock); break;
                    case 9: hasFinally(i); break;
                    case 10: nested(i); break;
                    case 11: synchronizedMethod(i); break;
                    case 12: synchronizedBlock(lock, i); break;
                    case 13: throughJdk(pair); break;
                    case 14: throughOutside(i); break;
                    default: outsideCatches(i); break;
                }
                finallyReturns(i);
            } catch (RuntimeException e) {
                caught++;
            }
            if (Thread.holdsLock(lock) || Thread.holdsLock(Exits.class)) {
                throw new AssertionError("still locked");
            }
        }
        return caught;
    }

    public static void main(String[] args) {
        Object lock = new Object();
        int caught = 0;
        for (int i = 0; i < ROUNDS; i++) {
            caught += round(i, lock, Arrays.asList(1, i));
        }
        System.out.println(caught + " caught, " + leaves + " leaves");
    }
}
