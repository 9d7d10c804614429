/** try, catch and finally, nested, with exceptions passing through frames. */
public class Catches {
    static StringBuilder trace;

    public static Object run() {
        trace = new StringBuilder();
        for (int i = 0; i < 6; i++) {
            try {
                trace.append(outer(i)).append(';');
            } catch (IllegalStateException e) {
                trace.append("ISE ").append(e.getMessage()).append(';');
            } catch (RuntimeException e) {
                trace.append(e.getClass().getName()).append(';');
            }
        }
        last();
        return trace.toString();
    }

    static int outer(int n) {
        try {
            return inner(n) + 1;
        } catch (ArithmeticException e) {
            trace.append("AE ");
            return -1;
        } finally {
            trace.append("f").append(n).append(' ');
        }
    }

    static int inner(int n) {
        int[] array = new int[3];
        try {
            if (n == 1) {
                return array[n + 2];
            }
            if (n == 2) {
                throw new IllegalStateException("two");
            }
            array[n % 3] = 10 / (n - 3);
        } catch (ArrayIndexOutOfBoundsException e) {
            trace.append("AIOOBE ");
            array[0] = 7;
        } catch (IllegalStateException e) {
            trace.append("inner ");
            throw e;
        }
        return array[0] + array[1] + array[2] + viaFinally(n);
    }

    static int viaFinally(int n) {
        int result = 0;
        try {
            result = deep(n);
        } finally {
            result += 100;
            if (n == 5) {
                return result;
            }
        }
        return result;
    }

    static int deep(int n) {
        if (n > 4) {
            throw new UnsupportedOperationException("deep");
        }
        return n == 0 ? 0 : deep(n - 1) + 1;
    }

    static void last() {
        Object nothing = trace.length() > 10_000 ? "x" : null;
        nothing.hashCode();
    }
}
