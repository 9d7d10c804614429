/** The lines of exceptions of every kind, as shown by their stack traces. */
public class Traces {
    static StringBuilder out;
    int field;

    public static Object run() {
        out = new StringBuilder();
        for (int i = 0; i < 16; i++) {
            try {
                out.append(i).append(':').append(first(i - 8 < 0 ? i : i + 1, -1, null));
            } catch (RuntimeException | Error e) {
                lines(e);
            }
        }
        try {
            new Traces(new int[0], "none");
        } catch (RuntimeException e) {
            lines(e);
        }
        throw new IllegalStateException(out.toString(), broken(3));
    }

    Traces(int[] from, String text) {
        super();
        int n = from.length;
        field = n + 1;
        field += from
            [n];
        out.append(text);
    }

    static void lines(Throwable e) {
        out.append(e.getClass().getSimpleName());
        for (StackTraceElement element : e.getStackTrace()) {
            if (element.getClassName().equals("Traces")) {
                out.append(' ').append(element.getMethodName()).append(element.getLineNumber());
            }
        }
        out.append('\n');
    }

    static Throwable broken(int n) {
        try {
            return new Throwable("no " + first(n, -1, null));
        } catch (NegativeArraySizeException e) {
            return e;
        }
    }

    static Object first(int which, int n, Object nothing) {
        switch (which) {
            case 0:
                return new int[n];
            case 1:
                return new String[n];
            case 2:
                return new long[2][n];
            case 3:
                int[] ints
                    = new int
                    [n];
                return ints;
            case 4:
                return ((int[]) nothing)[0];
            case 5:
                return (Integer) (Object) "text";
            case 6:
                return 1 / (n + 1);
            case 7:
                Object[] objects = new String[1];
                objects[0] = which;
                return objects;
            case 8:
                throw new IllegalArgumentException();
            case 9:
                return ((Traces) nothing).field;
            case 10:
                return nothing.toString();
            case 11:
                try {
                    return new char[n - 1];
                } catch (NegativeArraySizeException e) {
                    return new byte[
                        n - 2];
                }
            case 12:
                try {
                    return 5L % (n + 1L);
                } finally {
                    out.append(
                        new short[n].length);
                }
            case 13:
                synchronized (out) {
                    return "abc".charAt(
                        which);
                }
            case 14:
                return second(which,
                    new double[which][n][]);
            default:
                return which;
        }
    }

    static int second(int a, double[][][] b) {
        return a + b.length;
    }
}
