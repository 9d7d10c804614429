/** An exception class that throws itself, with causes and suppressed exceptions. */
public class Thrower extends RuntimeException {
    private static final long serialVersionUID = 1;
    final int code;

    Thrower(int code, Throwable cause) {
        super(code == 0 ? null : "code " + code, cause == null && code > 3 ? new Exception("none") : cause);
        this.code = code;
        if (code == 6) {
            throw new IllegalStateException("six", this);
        }
    }

    public static Object run() {
        String out = "";
        for (int i = 0; i < 6; i++) {
            try {
                first(i);
            } catch (Thrower t) {
                out += t.getMessage() + t.code + (t.getCause() == null) + " ";
            } finally {
                out += i;
            }
        }
        out += resources();
        first(6);
        return out;
    }

    static void first(int n) {
        try {
            second(n);
        } catch (IllegalArgumentException e) {
            throw new Thrower(n, e);
        }
    }

    static void second(int n) {
        if (n == 0) {
            throw new Thrower(0, null);
        }
        if (n % 2 == 0) {
            third(n);
        }
    }

    static void third(int n) {
        try {
            if (n == 2) {
                throw new IllegalArgumentException("three");
            }
            throw new Thrower(n, null);
        } finally {
            n++;
        }
    }

    static String resources() {
        String log = "";
        try {
            try {
                throw new Thrower(1, null);
            } catch (Thrower t) {
                t.addSuppressed(new Exception("s"));
                throw t;
            } finally {
                log += "closed";
            }
        } catch (Thrower t) {
            return log + t.getSuppressed().length;
        }
    }
}
