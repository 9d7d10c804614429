/** A class of one archive; the class Beta is in another archive. */
public class Alpha {
    public static void main(String[] args) {
        for (int n = 0; n < 10; n++) {
            one();
        }
        new Alpha().one(1, new int[0][], "", 1.0, new Object[0]);
    }

    static void one() {
        Beta.two();
        Beta.two();
    }

    /** An overload. To tell overloads apart, their names in the profile have their parameters. */
    void one(int a, int[][] b, String c, double d, Object... e) {
    }

    public static void back() {
    }
}
