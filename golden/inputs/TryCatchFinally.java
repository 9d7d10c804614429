// javac 17 flags: -g
/** try/catch/finally, nested, in a loop left by break and continue. */
public class TryCatchFinally {
    static String test() {
        StringBuilder text = new StringBuilder();
        outer:
        for (int i = 0; i < 6; i++) {
            try {
                try {
                    if (i == 1) {
                        continue;
                    }
                    if (i == 4) {
                        break outer;
                    }
                    text.append(6 / (i - 2));
                } catch (ArithmeticException e) {
                    text.append('a');
                    if (i == 2) {
                        throw new IllegalStateException(e);
                    }
                } finally {
                    text.append('f');
                }
            } catch (IllegalStateException e) {
                text.append('s');
            } finally {
                text.append('g');
            }
        }
        return text.toString();
    }

    public static Object run() {
        return test();
    }
}
