// javac 17 flags: -g
/** try/finally: the block is copied to each way out and to a catch-any handler. */
public class TryFinally {
    static int finals;

    static int test(int n) {
        try {
            if (n == 0) {
                return 10;
            }
            return 8 / (n - 1);
        } finally {
            finals++;
        }
    }

    static int overriding(int n) {
        for (;;) {
            try {
                return 8 / n;
            } finally {
                if (n == 0) {
                    n++;
                    continue;
                }
                finals++;
            }
        }
    }

    public static Object run() {
        finals = 0;
        String text = test(0) + "," + test(2) + "," + overriding(0) + "," + overriding(4);
        try {
            test(1);
        } catch (ArithmeticException e) {
            text += "caught";
        }
        return text + finals;
    }
}
