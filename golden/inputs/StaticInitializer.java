// javac 17 flags: -g
/** A class initialiser with a loop, a handler and the flag of assertions. */
public class StaticInitializer {
    static final int[] SQUARES = new int[5];
    static final String FAILED;

    static {
        String failed = null;
        for (int i = 0; i < 6; i++) {
            try {
                SQUARES[i] = i * i;
            } catch (ArrayIndexOutOfBoundsException e) {
                failed = "at " + i;
            }
        }
        FAILED = failed;
    }

    static int checked(int n) {
        assert n > 0 : "n is " + n;
        return n;
    }

    public static Object run() {
        return SQUARES[4] + FAILED + checked(3);
    }
}
